import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { PACES, type Pace } from './events.ts';
import type { Job, Progress } from './worker.ts';

// npm run simulate: fleets of replicas made of the real core, in a simulated world; see docs/testing.md. Exit status 1 if a
// promise was broken, which is then shown with the events that break it.

const { values } = parseArgs({
  options: {
    days: { type: 'string', default: '40' },
    seconds: { type: 'string' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 30)) },
    replicas: { type: 'string' },
    mode: { type: 'string', default: 'safety' },
    only: { type: 'string' },
    keep: { type: 'string' },
    'go-on': { type: 'boolean', default: false },
    trace: { type: 'boolean', default: false },
    coverage: { type: 'boolean', default: false },
    workers: { type: 'string', default: '2' },
  },
});
const print = (text: string): void => void process.stdout.write(`${text}\n`);
const usage = (problem: string): never => {
  process.stderr.write(`${problem}\n`);
  process.exit(2);
};
const number = (name: 'days' | 'seconds' | 'seed' | 'replicas' | 'workers'): number => {
  const value = Number(values[name]);
  return Number.isInteger(value) && value >= 0 ? value : usage(`--${name} is a number`);
};

/** What each mode runs in turn. */
const MODES: Readonly<Record<string, readonly Pace[]>> = {
  /** Mostly days, so that a fleet-day is one of 24 h. */
  safety: ['day', 'day', 'day', 'rush'],
  liveness: ['liveness'],
  /** What finds most in little time. */
  quick: ['rush', 'liveness', 'rush', 'day'],
};
const isPace = (name: string): name is Pace => PACES.some((pace) => pace === name);
const paces =
  MODES[values.mode] ??
  (isPace(values.mode) ? [values.mode] : usage(`--mode is one of ${Object.keys(MODES).join(', ')}`));

const seed = number('seed');
const isOne = values.only !== undefined;
const job: Omit<Job, 'first' | 'step'> = {
  seed: isOne ? Number(values.only) : seed,
  paces,
  replicas: values.replicas === undefined ? undefined : number('replicas'),
  days: isOne ? 0 : number('days'),
  seconds: values.seconds === undefined ? undefined : number('seconds'),
  keep: values.keep?.split(',').filter(Boolean).map(Number),
  goesOn: values['go-on'],
  isTraced: values.trace,
  isMeasured: values.coverage,
};
const workers = isOne || values.coverage ? 1 : Math.max(1, number('workers'));

const startedAtMs = performance.now();
const total = { runs: 0, steps: 0, calls: 0, events: 0, days: 0 };
let hasFailed = false;
const children = Array.from({ length: workers }, (_, first) =>
  fork(fileURLToPath(new URL('./worker.js', import.meta.url)), [
    JSON.stringify({ ...job, first, step: workers }),
  ]),
);
const onMessage = (progress: Progress): void => {
  for (const name of ['runs', 'steps', 'calls', 'events', 'days'] as const) total[name] += progress[name];
  for (const line of progress.lines) print(line);
  if (!progress.isFailure) return;
  if (!hasFailed && !values['go-on']) for (const child of children) child.kill();
  hasFailed = true;
};
print(`seed ${seed}, mode ${values.mode}`);
const ends = children.map(
  (child) =>
    new Promise<number | null>((resolve) => {
      child.on('message', (message) => onMessage(message as Progress)).once('exit', resolve);
    }),
);
const codes = await Promise.all(ends);
const seconds = (performance.now() - startedAtMs) / 1_000;
const count = (value: number): string => Math.round(value).toLocaleString('en');
print(
  `${count(total.days)} fleet-days in ${count(total.runs)} runs: ${count(total.events)} events, ` +
    `${count(total.steps)} steps, ${count(total.calls)} calls to the provider; ${seconds.toFixed(1)} s`,
);
const hasCrashed = !hasFailed && codes.some((code) => code !== 0);
if (hasCrashed) print('A worker ended early.');
process.exit(hasFailed || hasCrashed ? 1 : 0);
