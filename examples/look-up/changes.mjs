// What changed between two downloads: node changes.mjs yesterday.json today.json
import { readFileSync } from 'node:fs';

const [before, after] = process.argv
  .slice(2)
  .map(
    (file) =>
      new Map(JSON.parse(readFileSync(file, 'utf8')).map((bank) => [bank.ispb, JSON.stringify(bank)])),
  );

for (const ispb of new Set([...before.keys(), ...after.keys()])) {
  const [then, now] = [before.get(ispb), after.get(ispb)];
  if (now === undefined) process.stdout.write(`removed ${then}\n`);
  else if (then === undefined) process.stdout.write(`added   ${now}\n`);
  else if (then !== now) process.stdout.write(`changed ${then} to ${now}\n`);
}
