import { parseArgs } from 'node:util';
import { findExcesses, toTable, worstOfEach } from './report.ts';
import { measureRequests } from './service.ts';
import { measureTexts } from './texts.ts';

// npm run worstcase: what the worst text costs, at every place where text enters from outside. It
// prints a table and fails where the CPU time exceeds a limit. docs/testing.md explains the method.

const { values } = parseArgs({
  options: { only: { type: 'string', multiple: true, default: [''] } },
});
const isWanted = (place: string): boolean =>
  values.only.some((part) => place.toLowerCase().includes(part.toLowerCase()));
const write = (text: string): void => void process.stdout.write(`${text}\n`);

const results = [
  ...(await measureTexts(isWanted)),
  ...(await measureRequests('off', isWanted)),
  ...(await measureRequests('on', isWanted)),
];
write(toTable(worstOfEach(results)));
const excesses = findExcesses(results);
if (excesses.length > 0) write(`\nBeyond the limits:\n${toTable(excesses)}`);
const unknown = values.only.filter(
  (part) => !results.some(({ place }) => place.toLowerCase().includes(part.toLowerCase())),
);
for (const part of unknown) write(`\nNo place has "${part}" in its name.`);
process.exitCode = excesses.length > 0 || unknown.length > 0 ? 1 : 0;
