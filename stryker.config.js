/**
 * Mutation testing; `npm run mutation` adds the files and tests of a group (test/mutation/groups.js).
 * @type {import('@stryker-mutator/core').PartialStrykerOptions}
 */
export default {
  testRunner: 'jest',
  testRunnerNodeArgs: ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'],
  jest: { enableFindRelatedTests: false },
  coverageAnalysis: 'perTest',
  plugins: ['@stryker-mutator/jest-runner', './test/mutation/ignore-messages.js'],
  ignorers: ['messages'],
  // Stryker rewrites the configuration of a TypeScript that has an API for it; this one has none. No such file exists.
  tsconfigFile: 'tsconfig.none.json',
  // What the tests of the groups need; the whole repository would be copied for each run.
  ignorePatterns: [
    '*',
    '!package.json',
    '!README.md',
    '!.env.example',
    '!docs/**',
    '!jest.config.js',
    '!src/**',
    '!test/**',
    '!emulator/**',
  ],
  concurrency: 2,
  // For a fault that loops. Less would be too little for a test on a busy machine.
  timeoutMS: 10_000,
  reporters: ['clear-text', 'progress-append-only'],
  clearTextReporter: { logTests: false },
  thresholds: { break: 90 },
  logLevel: 'warn',
  warnings: { slow: false },
  cleanTempDir: 'always',
};
