import base from '../../jest.config.js';

/** @type {import('jest').Config} Tests that measure time and memory, one file at a time. */
export default {
  ...base,
  rootDir: '../..',
  testTimeout: 300_000,
  maxWorkers: 1,
  testMatch: ['<rootDir>/test/load/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
};
