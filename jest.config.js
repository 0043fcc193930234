import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';

const systemFolder = tmpdir();
/** The temporary folder of this run: what the tests leave in it is reported, and goes with it. */
const folder = mkdtempSync(join(systemFolder, 'banks-bff-test-'));
// Some programs that the tests start change to another user.
chmodSync(folder, 0o755);
// oxlint-disable-next-line node/no-process-env -- the workers inherit it
process.env.TMPDIR = folder;
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

/** @type {import('jest').Config} */
export default {
  // Kept from one run to the next.
  cacheDirectory: join(systemFolder, 'banks-bff-jest'),
  testEnvironment: 'node',
  globalTeardown: '<rootDir>/test/helpers/report-leftovers.js',
  // Generous: real processes and browsers start slowly on a busy machine, and no test waits without a reason.
  testTimeout: 90_000,
  // More than there are processors: tests wait, for programs and for deadlines, for half of the time.
  maxWorkers: Math.ceil(2.5 * availableParallelism()),
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  // What needs a browser has a configuration of its own (npm run test:browser), and so have what the service is shipped as
  // (test:deploy), and tests that take long, measure or install packages (test:soak, test:load and test:examples).
  // A built example has a copy of the bank picker's package, whose name jest would find twice.
  modulePathIgnorePatterns: ['<rootDir>/examples/[^/]+/dist/'],
  testPathIgnorePatterns: ['/node_modules/', '/test/(browser|deploy|soak|load|examples)/'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '\\.ts$': [
      '@swc/jest',
      {
        module: { type: 'es6' },
        jsc: { target: 'es2022', experimental: { keepImportAttributes: true } },
      },
    ],
  },
};
