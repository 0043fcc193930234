import base from '../../jest.config.js';

/**
 * How the bank picker looks and what its package contains, and the examples in `examples/`, each
 * installed and built as its readers would do it. What the bank picker does is in `npm test`.
 * @type {import('jest').Config}
 */
export default {
  ...base,
  rootDir: '../..',
  testTimeout: 300_000,
  testMatch: ['<rootDir>/packages/*/test/**/*.test.ts', '<rootDir>/test/examples/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', '/bank-picker/test/(search|form|use|origin)\\.'],
};
