import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { options } from './options.ts';

// npm run simulate: fleets of replicas made of the real core, in a simulated world; see docs/testing.md. Exit status 1 if a
// promise was broken, which is then shown with the events that break it.

process.stdout.write(`seed ${options.seed}, mode ${options.mode}\n`);
const worker = fileURLToPath(new URL('./worker.js', import.meta.url));
const children = Array.from({ length: options.workers }, (_, index) =>
  fork(
    worker,
    // Here the seed may have been made up.
    [...process.argv.slice(2), '--seed', `${options.seed}`, '--worker', `${index}`],
    { execArgv: ['--max-semi-space-size=64'] },
  ).once('exit', (status) => {
    if (status === 0) return;
    process.exitCode = 1;
    for (const child of children) child.kill();
  }),
);
