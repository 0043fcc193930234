import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { PACES, type Pace } from './plan.ts';

// What `npm run simulate` is asked for.

const USAGE = `npm run simulate -- [options]

--mode MODE     safety (the default), quick, day, rush, few, liveness or quiet; see docs/testing.md
--days N        until so many days of 24 simulated hours are over; 40 unless given
--runs N        so many runs instead
--seed N        for the same runs again
--replicas N    instead of one to five
--only=SEED     one run; --path PATH: what fast-check made of it; --trace: a line for each step
--workers N     processes; as many as there are processors unless given
`;

const fail = (problem: string): never => {
  process.stderr.write(`${problem}\n`);
  process.exit(2);
};

const parse = () => {
  try {
    return parseArgs({
      options: {
        help: { type: 'boolean', short: 'h', default: false },
        mode: { type: 'string', default: 'safety' },
        days: { type: 'string', default: '40' },
        runs: { type: 'string' },
        seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 30)) },
        replicas: { type: 'string' },
        only: { type: 'string' },
        path: { type: 'string' },
        trace: { type: 'boolean', default: false },
        /** Which of the processes this one is; they are started by the first. */
        worker: { type: 'string', default: '0' },
        workers: { type: 'string', default: String(availableParallelism()) },
      },
    });
  } catch (error) {
    return fail(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  }
};
const { values } = parse();
if (values.help) {
  process.stdout.write(USAGE);
  process.exit(0);
}
const number = (
  name: 'days' | 'runs' | 'seed' | 'replicas' | 'only' | 'worker' | 'workers',
): number => {
  const value = Number(values[name]);
  return Number.isInteger(value) ? value : fail(`--${name} is a number`);
};

const MOSTLY_FEW = ['few', 'few', 'rush', 'few', 'few'] as const;
/** What each mode runs in turn. */
const MODES: Readonly<Record<string, readonly Pace[]>> = {
  /** Mostly days, so that a fleet-day is one of 24 hours. */
  safety: ['day', 'day', 'day', 'day', 'day', 'rush'],
  /** What finds most in little time. */
  quick: [...MOSTLY_FEW, 'liveness', ...MOSTLY_FEW, 'day', ...MOSTLY_FEW, 'quiet'],
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
  workers: only === undefined ? number('workers') : 1,
};
