import { parseArgs } from 'node:util';
import { PACES, type Pace } from './events.ts';

// What `npm run simulate` is asked for.

const { values } = parseArgs({
  options: {
    mode: { type: 'string', default: 'safety' },
    /** Fleet-days, which are those of 24 simulated hours, or runs. */
    days: { type: 'string', default: '40' },
    runs: { type: 'string' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 30)) },
    replicas: { type: 'string' },
    /** One run, by its seed, and those of its events that it is to have. */
    only: { type: 'string' },
    keep: { type: 'string' },
    /** One line for each broken promise, without a search for the fewest events. */
    brief: { type: 'boolean', default: false },
    trace: { type: 'boolean', default: false },
    coverage: { type: 'boolean', default: false },
    /** Which of the processes this one is; they are started by the first. */
    worker: { type: 'string', default: '0' },
  },
});

const fail = (problem: string): never => {
  process.stderr.write(`${problem}\n`);
  process.exit(2);
};
const number = (name: 'days' | 'runs' | 'seed' | 'replicas' | 'only' | 'worker'): number => {
  const value = Number(values[name]);
  return Number.isInteger(value) && value >= 0 ? value : fail(`--${name} is a number`);
};

/** What each mode runs in turn. */
const MODES: Readonly<Record<string, readonly Pace[]>> = {
  /** Mostly days, so that a fleet-day is one of 24 h. */
  safety: ['day', 'day', 'day', 'day', 'day', 'rush'],
  /** What finds most in little time. */
  quick: ['rush', 'liveness', 'rush', 'day', 'rush', 'quiet'],
};
const isPace = (name: string): name is Pace => PACES.some((pace) => pace === name);
const { mode } = values;
const isOne = values.only !== undefined;

export const options = {
  mode,
  paces:
    MODES[mode] ??
    (isPace(mode) ? [mode] : fail(`--mode is ${[...PACES, ...Object.keys(MODES)].join(', ')}`)),
  seed: number(isOne ? 'only' : 'seed'),
  days: isOne || values.runs !== undefined ? Infinity : number('days'),
  runs: isOne ? 1 : values.runs === undefined ? Infinity : number('runs'),
  replicas: values.replicas === undefined ? undefined : number('replicas'),
  keep: values.keep?.split(',').map(Number),
  isBrief: values.brief,
  isTraced: values.trace,
  isMeasured: values.coverage,
  workers: isOne || values.coverage ? 1 : 2,
  worker: number('worker'),
};
