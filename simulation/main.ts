import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { options } from './options.ts';
import type { Progress } from './worker.ts';

// npm run simulate: fleets of replicas made of the real core, in a simulated world; see docs/testing.md. Exit status 1 if a
// promise was broken, which is then shown with the events that break it.

const print = (text: string): void => void process.stdout.write(`${text}\n`);
const count = (value: number): string => Math.round(value).toLocaleString('en');
const startedAtMs = performance.now();
const total = { runs: 0, steps: 0, calls: 0, events: 0, days: 0 };
let hasFailed = false;

const onProgress = ({ lines, isFailure, ...done }: Progress): void => {
  const thousands = Math.floor(total.days / 1_000);
  for (const name of ['runs', 'steps', 'calls', 'events', 'days'] as const) total[name] += done[name];
  if (Math.floor(total.days / 1_000) > thousands) print(`${count(total.days)} fleet-days`);
  for (const line of lines) print(line);
  if (!isFailure) return;
  if (!hasFailed && !options.goesOn) for (const child of children) child.kill();
  hasFailed = true;
};

print(`seed ${options.seed}, mode ${options.mode}`);
const children = Array.from({ length: options.workers }, (_, worker) =>
  fork(
    fileURLToPath(new URL('./worker.js', import.meta.url)),
    // Here the seed may have been made up.
    [...process.argv.slice(2), '--seed', `${options.seed}`, '--worker', `${worker}`],
    { execArgv: ['--max-semi-space-size=64'] },
  ),
);
const codes = await Promise.all(
  children.map(
    (child) =>
      new Promise<number | null>((resolve) => {
        child.on('message', (message) => onProgress(message as Progress)).once('exit', resolve);
      }),
  ),
);
print(
  `${count(total.days)} fleet-days in ${count(total.runs)} runs: ${count(total.events)} events, ` +
    `${count(total.steps)} steps, ${count(total.calls)} calls to the provider; ` +
    `${((performance.now() - startedAtMs) / 1_000).toFixed(1)} s`,
);
const hasCrashed = !hasFailed && codes.some((code) => code !== 0);
if (hasCrashed) print('A worker ended early.');
process.exit(hasFailed || hasCrashed ? 1 : 0);
