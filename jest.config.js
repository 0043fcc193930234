/** @type {import('jest').Config} */
export default {
  testEnvironment: 'node',
  // Generous: real processes and browsers start slowly on a busy machine, and no test waits without a reason.
  testTimeout: 30_000,
  // By default jest leaves one processor free, and with two would run one file at a time.
  maxWorkers: '100%',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  // Loads, kills and soaks have a configuration of their own, npm run test:soak; so has what installs packages, npm run
  // test:examples.
  // A built example has a copy of the bank picker's package, whose name jest would find twice.
  modulePathIgnorePatterns: ['<rootDir>/examples/[^/]+/dist/'],
  testPathIgnorePatterns: ['/node_modules/', '/test/soak/', '/test/examples/'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '\\.ts$': [
      '@swc/jest',
      { module: { type: 'es6' }, jsc: { target: 'es2022', experimental: { keepImportAttributes: true } } },
    ],
  },
};
