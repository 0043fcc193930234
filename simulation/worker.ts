/* oxlint-disable no-await-in-loop -- one run after the other */
import * as fc from 'fast-check';
import { describe, moment, plan, type Pace, type Plan } from './events.ts';
import { options } from './options.ts';
import { measureReach } from './reach.ts';
import { run } from './run.ts';
import { keep, shrink } from './shrink.ts';

// One process of the simulation: runs every so manyth plan, and shrinks the first that breaks a promise.

const SHRINK_MS = 120_000;
const DAY_MS = 86_400_000;
const { paces, seed: firstSeed, days, runs, workers, worker, isBrief, isTraced, isMeasured } = options;

const print = (...lines: readonly string[]): void => void process.stdout.write(`${lines.join('\n')}\n`);

/** The plan of a seed is always the same. */
const toPlan = (seed: number, pace: Pace): Plan => {
  const [made] = fc.sample(plan(options.replicas, pace), { seed, numRuns: 1 }) as [Plan];
  return options.keep ? { ...made, events: keep(made.events, options.keep) } : made;
};

/** Prints the fewest events that break the same promise. */
const report = async (seed: number, pace: Pace, made: Plan): Promise<void> => {
  Error.stackTraceLimit = 10;
  const violated = async (smaller: Plan): Promise<string | undefined> => (await run(smaller)).violation;
  const message = (await violated(made)) ?? 'The run is not repeatable.';
  const [promise] = message.split('\n');
  const isSame = async (smaller: Plan): Promise<boolean> =>
    (await violated(smaller))?.split('\n')[0] === promise;
  const kept = options.keep ? made.events.map((_, index) => index) : await shrink(made, isSame, SHRINK_MS);
  const smallest = { ...made, events: keep(made.events, kept) };
  const fleet = options.replicas === undefined ? '' : ` --replicas ${options.replicas}`;
  print(
    '',
    (await violated(smallest)) ?? message,
    ...describe(smallest).map((line) => `  ${line}`),
    `Repeat: npm run simulate -- --mode ${pace}${fleet} --only ${seed} --keep ${(options.keep ?? kept).join(',')} --trace`,
  );
};

const trace = (atMs: number, what: string, { name }: { readonly name: string }): void =>
  print(`${moment(atMs)} ${name}: ${what}`);

// Nobody reads where the errors of a good run were made, and it takes a tenth of the time.
Error.stackTraceLimit = 0;
const reached = isMeasured ? await measureReach() : undefined;
const total = { runs: 0, steps: 0, calls: 0, events: 0, days: 0 };
for (let index = worker; index < runs && total.days * workers < days; index += workers) {
  const seed = firstSeed + index;
  const pace = paces[Math.floor(index / workers) % paces.length] ?? 'day';
  const made = toPlan(seed, pace);
  const { violation, steps, calls, simulatedMs } = await run(made, isTraced ? trace : undefined);
  total.runs += 1;
  total.steps += steps;
  total.calls += calls;
  total.events += made.events.length;
  // Next to nothing happens in quiet days.
  total.days += pace === 'quiet' ? 0 : simulatedMs / DAY_MS;
  if (!violation) continue;
  process.exitCode = 1;
  if (isBrief) print(`${seed} ${pace}: ${violation.replace(/\n */, ' ')}`);
  else await report(seed, pace, made);
  break;
}
print(
  `${total.days.toFixed(1)} fleet-days in ${total.runs} runs: ${total.events} events, ${total.steps} steps, ` +
    `${total.calls} calls to the provider`,
  ...((await reached?.()) ?? []),
);
// What a stopped fleet waits for never happens.
process.exit();
