import { parseArgs } from 'node:util';
import { PACES, type Pace } from './plan.ts';

// What `npm run simulate` is asked for.

const { values } = parseArgs({
  options: {
    mode: { type: 'string', default: 'safety' },
    /** Fleet-days, of 24 simulated hours each, or runs. */
    days: { type: 'string', default: '40' },
    runs: { type: 'string' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 30)) },
    replicas: { type: 'string' },
    /**
     * One run, and the path to what fast-check made of it while it looked for the fewest events.
     */
    only: { type: 'string' },
    path: { type: 'string' },
    /** A line for each step of it. */
    trace: { type: 'boolean', default: false },
    /** Which of how many processes this one is; they are started by the first. */
    worker: { type: 'string', default: '0' },
    workers: { type: 'string', default: '1' },
  },
});

const fail = (problem: string): never => {
  process.stderr.write(`${problem}\n`);
  process.exit(2);
};
const number = (
  name: 'days' | 'runs' | 'seed' | 'replicas' | 'only' | 'worker' | 'workers',
): number => {
  const value = Number(values[name]);
  return Number.isInteger(value) ? value : fail(`--${name} is a number`);
};

/** What each mode runs in turn. */
const MODES: Readonly<Record<string, readonly Pace[]>> = {
  /** Mostly days, so that a fleet-day is one of 24 hours. */
  safety: ['day', 'day', 'day', 'day', 'day', 'rush'],
  /** What finds most in little time. */
  quick: ['rush', 'liveness', 'rush', 'day', 'rush', 'quiet'],
};
const { mode, path, trace } = values;
const pace = PACES.find((name) => name === mode);
const only = values.only === undefined ? undefined : number('only');

export const options = {
  mode,
  paces:
    MODES[mode] ??
    (pace ? [pace] : fail(`--mode is ${[...PACES, ...Object.keys(MODES)].join(', ')}`)),
  seed: number('seed'),
  days: values.runs === undefined && only === undefined ? number('days') : Infinity,
  runs: only === undefined ? (values.runs === undefined ? Infinity : number('runs')) : 1,
  replicas: values.replicas === undefined ? undefined : number('replicas'),
  only,
  path,
  isTraced: trace,
  worker: number('worker'),
  workers: number('workers'),
};
