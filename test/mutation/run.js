import { Stryker } from '@stryker-mutator/core';
import { GROUPS } from './groups.js';

// npm run mutation -- [group...]: changes the code of each group, one small fault at a time, and prints every fault that no test
// noticed, and the share that one did. The exit status is 1 if that is less than 90 % in one of the groups (stryker.config.js).

const wanted = process.argv.slice(2);
const names = wanted.length > 0 ? wanted : Object.keys(GROUPS);
if (!names.every((name) => Object.hasOwn(GROUPS, name))) {
  process.stderr.write(
    `usage: npm run mutation -- [group...]\ngroups: ${Object.keys(GROUPS).join(', ')}\n`,
  );
  process.exit(2);
}

for (const name of names) {
  const { files, tests } = GROUPS[name];
  process.stdout.write(`\n== ${name}\n`);
  // oxlint-disable-next-line no-await-in-loop -- each group uses all processors
  await new Stryker({
    mutate: files.map((path) => `src/${path}`),
    jest: {
      config: {
        testMatch: ['<rootDir>/test/mutation/tests-of-group.js'],
        globals: { TEST_FILES: tests.map((path) => `../${path}.test.ts`) },
        testEnvironment: './test/mutation/environment.cjs',
        watchman: false,
      },
    },
  }).runMutationTest();
}
