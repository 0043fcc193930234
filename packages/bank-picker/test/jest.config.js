import base from '../../../jest.config.js';

/**
 * The bank picker: its search, what it does and how it looks in a browser, and its package.
 * @type {import('jest').Config}
 */
export default {
  ...base,
  rootDir: '../../..',
  testTimeout: 300_000,
  testMatch: ['<rootDir>/packages/bank-picker/test/*.test.ts'],
};
