// What changed between two downloads: node changes.mjs yesterday.json today.json
import { readFileSync } from 'node:fs';

const files = process.argv.slice(2);
if (files.length !== 2) {
  process.stderr.write('Usage: node changes.mjs yesterday.json today.json\n');
  process.exit(2);
}

// `| head` closes the pipe before everything has been written.
process.stdout.on('error', () => process.exit());

const banksIn = (file) => {
  try {
    const banks = JSON.parse(readFileSync(file, 'utf8'));
    return new Map(banks.map((bank) => [bank.ispb, JSON.stringify(bank)]));
  } catch (error) {
    process.stderr.write(`${file} is no list of banks: ${error.message}\n`);
    process.exit(2);
  }
};
const [before, after] = files.map(banksIn);

for (const ispb of new Set([...before.keys(), ...after.keys()])) {
  const [then, now] = [before.get(ispb), after.get(ispb)];
  if (now === undefined) process.stdout.write(`removed ${then}\n`);
  else if (then === undefined) process.stdout.write(`added   ${now}\n`);
  else if (then !== now) process.stdout.write(`changed ${then} to ${now}\n`);
}
