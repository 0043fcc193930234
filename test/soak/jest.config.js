import base from '../../jest.config.js';

/**
 * Tests that need real time: for many seconds they wait for the service, its failures and its kills.
 * @type {import('jest').Config}
 */
export default {
  ...base,
  rootDir: '../..',
  testTimeout: 300_000,
  // All at once: they wait most of the time, and the longest one comes last in jest's order.
  maxWorkers: 8,
  testMatch: ['<rootDir>/test/soak/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
};
