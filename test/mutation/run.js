import { Stryker } from '@stryker-mutator/core';
import { readdirSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { parseArgs } from 'node:util';
import { GROUPS } from './groups.js';

// npm run mutation -- [group...] [--mutate PATTERN]: changes the code of each group, or only of the files of the pattern, one
// small fault at a time, prints every fault that no test noticed, and then the share that one did. The exit status is 1 if
// that is less than 90 % in one of the groups.

const LEAST_PERCENT = 90;

const { positionals: wanted, values } = parseArgs({
  allowPositionals: true,
  options: { mutate: { type: 'string' } },
});
const names = wanted.length > 0 ? wanted : Object.keys(GROUPS);
if (!names.every((name) => Object.hasOwn(GROUPS, name))) {
  process.stderr.write(
    `usage: npm run mutation -- [group...] [--mutate PATTERN]\ngroups: ${Object.keys(GROUPS).join(', ')}\n`,
  );
  process.exit(2);
}

/** A fault that keeps a test from ending is noticed. */
const isEndless = ({ status }) => status === 'Timeout';
const isNoticed = (mutant) => mutant.status === 'Killed' || isEndless(mutant);
const isMissed = ({ status }) => status === 'Survived' || status === 'NoCoverage';

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
    mutate: values.mutate === undefined ? files : [values.mutate],
    jest: {
      config: {
        testMatch: ['<rootDir>/test/mutation/tests-of-group.js'],
        globals: { TEST_FILES: testFiles.map((path) => `../../${path}`) },
        testEnvironment: './test/mutation/environment.cjs',
        watchman: false,
      },
    },
  }).runMutationTest();
  const noticed = mutants.filter(isNoticed).length;
  const missed = mutants.filter(isMissed);
  for (const mutant of missed) process.stdout.write(describe(mutant));
  const percent = (100 * noticed) / (noticed + missed.length);
  scores.push({
    group: name,
    faults: noticed + missed.length,
    missed: missed.length,
    endless: mutants.filter(isEndless).length,
    percent,
  });
}

for (const { group, faults, missed, endless, percent } of scores)
  process.stdout.write(
    `${group}: ${percent.toFixed(1)} % of ${faults} faults noticed (${endless} by a test that did not end), ${missed} missed\n`,
  );
if (scores.some(({ percent }) => percent < LEAST_PERCENT)) process.exitCode = 1;
