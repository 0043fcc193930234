/* oxlint-disable no-await-in-loop -- one run after the other */
import * as fc from 'fast-check';
import { createReach } from './reach.ts';
import { describe, plan, type Pace, type Plan } from './events.ts';
import { run } from './run.ts';
import { keep, shrink } from './shrink.ts';

// One process of the simulation: runs every `step`-th plan, and shrinks the first that breaks a promise.

export interface Job {
  readonly seed: number;
  readonly first: number;
  readonly step: number;
  readonly paces: readonly Pace[];
  readonly replicas: number | undefined;
  /** Fleet-days of all processes together; 0: one run. */
  readonly days: number;
  /** Ends earlier after this time. */
  readonly seconds: number | undefined;
  /** Only these of the plan's events. */
  readonly keep: readonly number[] | undefined;
  /** Shows each promise that is broken once, and goes on. */
  readonly goesOn: boolean;
  readonly isTraced: boolean;
  readonly isMeasured: boolean;
}

export interface Progress {
  readonly runs: number;
  readonly steps: number;
  readonly calls: number;
  readonly events: number;
  /** Fleet-days of 24 simulated hours. */
  readonly days: number;
  readonly lines: readonly string[];
  readonly isFailure: boolean;
}

const SHRINK_MS = 120_000;
const DAY_MS = 86_400_000;

const job = JSON.parse(process.argv[2] ?? '') as Job;
const send = (progress: Progress): Promise<void> =>
  new Promise((resolve) => void process.send?.(progress, undefined, undefined, () => resolve()));
const nothing: Progress = { runs: 0, steps: 0, calls: 0, events: 0, days: 0, lines: [], isFailure: false };

/** The plan of a seed is always the same. */
const toPlan = (seed: number, pace: Pace): Plan => {
  const [made] = fc.sample(plan(job.replicas, pace), { seed, numRuns: 1 }) as [Plan];
  return job.keep ? { ...made, events: keep(made.events, job.keep) } : made;
};

const report = async (seed: number, pace: Pace, made: Plan): Promise<void> => {
  const violated = async (smaller: Plan): Promise<string | undefined> =>
    (await run(smaller)).violation?.message;
  const message = (await violated(made)) ?? 'The run is not repeatable.';
  const [promise] = message.split('\n');
  const isSame = async (smaller: Plan): Promise<boolean> =>
    (await violated(smaller))?.split('\n')[0] === promise;
  const kept = job.keep ? made.events.map((_, index) => index) : await shrink(made, isSame, SHRINK_MS);
  const smallest = { ...made, events: keep(made.events, kept) };
  const fleet = job.replicas === undefined ? '' : ` --replicas ${job.replicas}`;
  await send({
    ...nothing,
    lines: [
      '',
      (await violated(smallest)) ?? message,
      ...describe(smallest).map((line) => `  ${line}`),
      `Repeat: npm run simulate -- --mode ${pace}${fleet} --only ${seed} --keep ${(job.keep ?? kept).join(',')} --trace`,
    ],
    isFailure: true,
  });
};

const trace = (atMs: number, what: string, { name }: { readonly name: string }): void =>
  void process.stdout.write(`${new Date(atMs).toISOString().slice(11, 23)} ${name}: ${what}\n`);

const runAll = async (): Promise<void> => {
  // Loaded when it is first needed: that would be the only thing that takes real time.
  await import('oauth4webapi');
  const reach = job.isMeasured ? await createReach() : undefined;
  const untilMs = job.seconds === undefined ? Infinity : performance.now() + job.seconds * 1_000;
  let done = nothing;
  let days = 0;
  const broken = new Map<string, number>();
  for (let index = job.first; ; index += job.step) {
    const seed = job.seed + index;
    const pace = job.paces[Math.floor(index / job.step) % job.paces.length] ?? 'day';
    const made = toPlan(seed, pace);
    const result = await run(made, {
      onStep: job.isTraced ? trace : undefined,
      onAction: reach?.onAction,
      onState: reach?.onState,
    });
    if (result.violation) {
      const [promise = ''] = result.violation.message.split('\n');
      if (!broken.has(promise)) await report(seed, pace, made);
      broken.set(promise, (broken.get(promise) ?? 0) + 1);
    }
    days += result.simulatedMs / DAY_MS;
    done = {
      ...done,
      runs: done.runs + 1,
      steps: done.steps + result.steps,
      calls: done.calls + result.calls,
      events: done.events + made.events.length,
      days: done.days + result.simulatedMs / DAY_MS,
    };
    const isOver =
      (broken.size > 0 && !job.goesOn) || days * job.step >= job.days || performance.now() >= untilMs;
    if (done.runs >= 50 || isOver) {
      await send(done);
      done = nothing;
    }
    if (isOver) break;
  }
  if (job.goesOn)
    await send({ ...nothing, lines: [...broken].map(([promise, times]) => `${times} times: ${promise}`) });
  if (reach) await send({ ...nothing, lines: await reach.report() });
};

await runAll();
process.exit(0);
