/* oxlint-disable no-await-in-loop -- one run after the other */
import * as fc from 'fast-check';
import { describe, plan, type Pace, type Plan } from './events.ts';
import { options } from './options.ts';
import { measureReach } from './reach.ts';
import { run } from './run.ts';
import { keep, shrink } from './shrink.ts';

// One process of the simulation: runs every so manyth plan, and shrinks the first that breaks a promise.

export interface Progress {
  readonly runs: number;
  readonly steps: number;
  readonly calls: number;
  readonly events: number;
  readonly days: number;
  readonly lines: readonly string[];
  readonly isFailure: boolean;
}

const SHRINK_MS = 120_000;
const DAY_MS = 86_400_000;

const nothing: Progress = { runs: 0, steps: 0, calls: 0, events: 0, days: 0, lines: [], isFailure: false };
const send = (progress: Partial<Progress>): Promise<void> =>
  new Promise((resolve) => {
    process.send?.({ ...nothing, ...progress }, undefined, undefined, () => resolve());
  });

/** The plan of a seed is always the same. */
const toPlan = (seed: number, pace: Pace): Plan => {
  const [made] = fc.sample(plan(options.replicas, pace), { seed, numRuns: 1 }) as [Plan];
  return options.keep ? { ...made, events: keep(made.events, options.keep) } : made;
};

const report = async (seed: number, pace: Pace, made: Plan): Promise<void> => {
  Error.stackTraceLimit = 10;
  const violated = async (smaller: Plan): Promise<string | undefined> =>
    (await run(smaller)).violation?.message;
  const message = (await violated(made)) ?? 'The run is not repeatable.';
  const [promise] = message.split('\n');
  const isSame = async (smaller: Plan): Promise<boolean> =>
    (await violated(smaller))?.split('\n')[0] === promise;
  const kept = options.keep ? made.events.map((_, index) => index) : await shrink(made, isSame, SHRINK_MS);
  const smallest = { ...made, events: keep(made.events, kept) };
  const fleet = options.replicas === undefined ? '' : ` --replicas ${options.replicas}`;
  const lines = [
    '',
    (await violated(smallest)) ?? message,
    ...describe(smallest).map((line) => `  ${line}`),
    `Repeat: npm run simulate -- --mode ${pace}${fleet} --only ${seed} --keep ${(options.keep ?? kept).join(',')} --trace`,
  ];
  await send({ lines, isFailure: true });
};

const trace = (atMs: number, what: string, { name }: { readonly name: string }): void =>
  void process.stdout.write(`${new Date(atMs).toISOString().slice(11, 23)} ${name}: ${what}\n`);

const runAll = async (): Promise<void> => {
  const { paces, seed: firstSeed, days, runs, workers, worker, goesOn, isBrief } = options;
  // Loaded when it is first needed: that would be the only thing that takes real time.
  await import('oauth4webapi');
  // Nobody reads where the errors of a good run were made, and it takes a tenth of the time.
  Error.stackTraceLimit = 0;
  const reached = options.isMeasured ? await measureReach() : undefined;
  let done = nothing;
  let simulatedDays = 0;
  const broken = new Map<string, number>();
  for (let index = worker; index < runs && simulatedDays * workers < days; index += workers) {
    const seed = firstSeed + index;
    const pace = paces[Math.floor(index / workers) % paces.length] ?? 'day';
    const made = toPlan(seed, pace);
    const { violation, steps, calls, simulatedMs } = await run(made, options.isTraced ? trace : undefined);
    if (violation) {
      const [promise = ''] = violation.message.split('\n');
      const line = `${seed} ${pace}: ${violation.message.replace(/\n */, ' ')}`;
      if (isBrief) await send({ lines: [line], isFailure: true });
      else if (!broken.has(promise)) await report(seed, pace, made);
      broken.set(promise, (broken.get(promise) ?? 0) + 1);
      if (!goesOn) break;
    }
    // Next to nothing happens in these.
    const ranDays = pace === 'quiet' ? 0 : simulatedMs / DAY_MS;
    simulatedDays += ranDays;
    done = {
      ...done,
      runs: done.runs + 1,
      steps: done.steps + steps,
      calls: done.calls + calls,
      events: done.events + made.events.length,
      days: done.days + ranDays,
    };
    if (done.runs < 50) continue;
    await send(done);
    done = nothing;
  }
  await send(done);
  const lines = goesOn && !isBrief ? [...broken].map(([promise, times]) => `${times} times: ${promise}`) : [];
  await send({ lines: [...lines, ...((await reached?.()) ?? [])] });
};

await runAll();
process.exit(0);
