import base from '../../jest.config.js';

/** @type {import('jest').Config} Tests that load, kill or wear out the service for many seconds, one file at a time. */
export default {
  ...base,
  rootDir: '../..',
  testTimeout: 300_000,
  maxWorkers: 1,
  testMatch: ['<rootDir>/test/soak/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
};
