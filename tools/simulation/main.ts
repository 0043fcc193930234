import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { options } from './options.ts';
import type { Message } from './worker.ts';

// npm run simulate: fleets of the real core in a simulated world; see docs/testing.md. Exit status
// 1 if a promise was broken, which is then printed with the fewest events that break it.

const worker = fileURLToPath(new URL('./worker.js', import.meta.url));
const { workers } = options;
/** Much longer than a run takes, also on a busy machine. */
const LONGEST_SILENCE_MS = 120_000;
const total = { runs: 0, days: 0, events: 0, steps: 0, calls: 0 };
const print = (text: string): void => void process.stdout.write(`${text}\n`);

/** Runs a worker to its end. What it has to say arrives before that. */
const work = (index: number): Promise<void> =>
  new Promise((resolve) => {
    const part = ['--worker', String(index), '--workers', String(workers)];
    const args = [...process.argv.slice(2), '--seed', String(options.seed), ...part];
    const child = fork(worker, args, { execArgv: ['--max-semi-space-size=64'] });
    let begun = '';
    const giveUp = (): void => {
      print(`${begun} does not end`);
      child.kill('SIGKILL');
    };
    const silence = setTimeout(giveUp, LONGEST_SILENCE_MS);
    child.on('message', ({ begins = begun, text, isBroken, done }: Message) => {
      begun = begins;
      silence.refresh();
      if (text !== undefined) print(text);
      if (isBroken) process.exitCode = 1;
      for (const [name, count] of Object.entries(done ?? {}))
        total[name as keyof typeof total] += count;
      if (total.days >= options.days || process.exitCode === 1) stopAll();
    });
    child.once('close', (status) => {
      clearTimeout(silence);
      if (status !== 0) process.exitCode = 1;
      running.delete(child);
      resolve();
    });
    running.add(child);
  });
const running = new Set<ReturnType<typeof fork>>();
/** Each finishes the run that it is in. */
const stopAll = (): void => {
  // One that has just ended by itself cannot be written to, and need not be.
  for (const child of running) if (child.connected) child.send('enough', () => {});
};

print(`seed ${options.seed}, mode ${options.mode}`);
await Promise.all(Array.from({ length: workers }, (_, index) => work(index)));
print(
  `${total.days.toFixed(1)} fleet-days in ${total.runs} runs: ${total.events} events, ` +
    `${total.steps} steps, ${total.calls} calls to the provider`,
);
