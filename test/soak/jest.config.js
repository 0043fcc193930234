import base from '../../jest.config.js';

/**
 * Tests that need real time: for many seconds they wait for the service, its failures and its kills.
 * @type {import('jest').Config}
 */
export default {
  ...base,
  rootDir: '../..',
  testTimeout: 300_000,
  maxWorkers: 3,
  testMatch: ['<rootDir>/test/soak/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
};
