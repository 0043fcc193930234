import base from '../../jest.config.js';

/**
 * The examples in `examples/`, each installed and built as its readers would do it.
 * @type {import('jest').Config}
 */
export default {
  ...base,
  rootDir: '../..',
  testTimeout: 300_000,
  testMatch: ['<rootDir>/test/examples/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
};
