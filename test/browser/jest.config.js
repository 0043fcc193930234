import base from '../../jest.config.js';

/**
 * What runs in a browser: the bank picker with its search and its package, what pages can do with
 * the service, and the status page.
 * @type {import('jest').Config}
 */
export default {
  ...base,
  rootDir: '../..',
  testTimeout: 300_000,
  testMatch: ['<rootDir>/packages/bank-picker/test/*.test.ts', '<rootDir>/test/browser/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
};
