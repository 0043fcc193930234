/** @type {import('jest').Config} */
export default {
  testEnvironment: 'node',
  // Most of the time goes into waiting for processes and sockets; jest's default leaves a two-core machine one worker.
  maxWorkers: 2,
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': ['@swc/jest', { module: { type: 'es6' }, jsc: { target: 'es2022' } }] },
};
