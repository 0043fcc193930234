/* oxlint-disable no-await-in-loop -- one run after the other */
import * as fc from 'fast-check';
import { createHash } from 'node:crypto';
import { check } from './checks/checks.ts';
import { DAY } from './durations.ts';
import { options } from './options.ts';
import { describe, moment, plan, type Pace, type Plan } from './plan.ts';
import { run } from './run.ts';

// One process of the simulation: runs plan after plan until one of them breaks a promise, which
// fast-check then shrinks.

/** What it tells the first process: a text to print, or what it has done since. */
export interface Message {
  readonly text?: string;
  /** How to repeat the run that begins. */
  readonly begins?: string;
  /** A promise was broken. */
  readonly isBroken?: boolean;
  readonly done?: Readonly<Record<'runs' | 'days' | 'events' | 'steps' | 'calls', number>>;
}

const SHRINK_MS = 90_000;
const SHRINKING = 'Looks for the fewest events that break it, for at most a minute and a half.';
const { paces, seed, runs, replicas, only, path, worker, workers, isTraced } = options;

const tell = (message: Message): Promise<void> =>
  new Promise((resolve) => void process.send?.(message, () => resolve()));

/** Independent of those of all other runs, however near their numbers are. */
const seedOf = (index: number): number =>
  createHash('sha256').update(`${seed} ${index}`).digest().readInt32BE();

const enough = new AbortController();
process.on('message', () => enough.abort());
// The first process is gone.
process.on('disconnect', () => process.exit());

const perform = async (pace: Pace, runSeed: number): Promise<boolean> => {
  const begins = `--mode ${pace} --only=${runSeed}`;
  let isFirst = true;
  let isFound = false;
  const trace: string[] = [];
  const property = fc.asyncProperty(plan(pace, replicas), async (made: Plan) => {
    // Also of each run with fewer events.
    await tell({ begins });
    const note = (atMs: number, what: string, { name }: { readonly name: string }): void =>
      void trace.push(`${moment(atMs)} ${name}: ${what}`);
    const { history, steps, endedAtMs } = await run(made, isTraced && isFirst ? note : undefined);
    // Next to nothing happens in quiet days.
    const days = pace === 'quiet' ? 0 : endedAtMs / DAY;
    const done = { runs: 1, days, events: made.events.length, steps, calls: history.calls.length };
    if (isFirst) await tell({ done });
    isFirst = false;
    const broken = check(history, endedAtMs);
    if (broken === undefined && path !== undefined) {
      await tell({ text: 'No promise is broken.' });
      // fast-check would go on with all that the path could lead to.
      process.exit();
    }
    if (broken === undefined) return;
    if (!isFound)
      await tell({ isBroken: true, text: `seed ${runSeed}, ${pace}: ${broken}\n${SHRINKING}` });
    isFound = true;
    throw new Error(broken);
  });
  const result = await fc.check(property, {
    seed: runSeed,
    numRuns: 1,
    ...(path === undefined ? { interruptAfterTimeLimit: SHRINK_MS } : { path, endOnFailure: true }),
  });
  if (isTraced) await tell({ text: trace.join('\n') });
  if (!result.failed || !result.counterexample) return false;
  const [smallest] = result.counterexample;
  const fleet = replicas === undefined ? '' : ` --replicas ${replicas}`;
  const which = `--mode ${pace}${fleet} --only=${runSeed} --path ${result.counterexamplePath}`;
  const text = [
    '',
    result.errorInstance instanceof Error
      ? result.errorInstance.message
      : String(result.errorInstance),
    ...describe(smallest).map((line) => `  ${line}`),
    `Repeat: npm run simulate -- ${which} --trace`,
  ];
  await tell({ text: text.join('\n') });
  return true;
};

// Nobody reads where the errors of a good run were made, and it takes a tenth of the time.
Error.stackTraceLimit = 0;
for (let index = worker; index < runs && !enough.signal.aborted; index += workers) {
  const pace = paces[index % paces.length] ?? 'day';
  if ((await perform(pace, only ?? seedOf(index))) || only !== undefined) break;
}
process.disconnect();
