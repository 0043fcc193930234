import { Stryker } from '@stryker-mutator/core';
import { readdirSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { GROUPS } from './groups.js';

// npm run mutation -- [group...]: changes the code of each group, one small fault at a time, prints every fault that no test
// noticed, and then the share that one did. The exit status is 1 if that is less than 90 % in one of the groups.

const LEAST_PERCENT = 90;

const wanted = process.argv.slice(2);
const names = wanted.length > 0 ? wanted : Object.keys(GROUPS);
if (!names.every((name) => Object.hasOwn(GROUPS, name))) {
  process.stderr.write(`usage: npm run mutation -- [group...]\ngroups: ${Object.keys(GROUPS).join(', ')}\n`);
  process.exit(2);
}

/** Where it is, and the code before and after. */
const describe = ({ fileName, location: { start, end }, mutatorName, replacement }) => {
  const lines = readFileSync(fileName, 'utf8')
    .split('\n')
    .slice(start.line - 1, end.line);
  const [first = '', ...others] = lines;
  const columns = [start.column - 1, others.length === 0 ? end.column - 1 : undefined];
  const original = [first.slice(...columns), ...others].join('\n');
  return `${relative('', fileName)}:${start.line}:${start.column} ${mutatorName}\n-   ${original}\n+   ${replacement}\n`;
};

/** Whether a path is what a pattern with `*` and `{a,b}` means. */
const matches = (pattern) => {
  const source = pattern
    .replaceAll('.', String.raw`\.`)
    .replaceAll('*', '[^/]*')
    .replaceAll(/\{(.*?)\}/g, (_, either) => `(${either.replaceAll(',', '|')})`);
  return (path) => new RegExp(`^${source}$`).test(path);
};
const paths = readdirSync('test', { recursive: true, encoding: 'utf8' }).map((path) => `test/${path}`);

const scores = [];
for (const name of names) {
  const { files, tests } = GROUPS[name];
  const testFiles = tests.flatMap((pattern) => paths.filter(matches(pattern)));
  // oxlint-disable-next-line no-await-in-loop -- each group uses all processors
  const mutants = await new Stryker({
    mutate: files,
    jest: {
      config: {
        testMatch: ['<rootDir>/test/mutation/tests-of-group.js'],
        globals: { TEST_FILES: testFiles.map((path) => `../../${path}`) },
        testEnvironment: './test/mutation/environment.cjs',
        watchman: false,
      },
    },
  }).runMutationTest();
  const withStatus = (...statuses) => mutants.filter(({ status }) => statuses.includes(status));
  // A fault that keeps a test from ending is noticed.
  const endless = withStatus('Timeout').length;
  const noticed = withStatus('Killed').length + endless;
  const missed = withStatus('Survived', 'NoCoverage');
  for (const mutant of missed) process.stdout.write(describe(mutant));
  const faults = noticed + missed.length;
  scores.push({ group: name, faults, missed: missed.length, endless, percent: (100 * noticed) / faults });
}

for (const { group, faults, missed, endless, percent } of scores)
  process.stdout.write(
    `${group}: ${percent.toFixed(1)} % of ${faults} faults noticed (${endless} by a test that did not end), ${missed} missed\n`,
  );
if (scores.some(({ percent }) => percent < LEAST_PERCENT)) process.exitCode = 1;
