import base from '../../jest.config.js';

/**
 * @type {import('jest').Config} The bank picker in Chromium, and the examples in `examples/`, each installed and built as its
 * readers would do it.
 */
export default {
  ...base,
  rootDir: '../..',
  testTimeout: 300_000,
  testMatch: ['<rootDir>/packages/*/test/**/*.test.ts', '<rootDir>/test/examples/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
};
