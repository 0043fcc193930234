import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { DEFAULT_ACCESS_TOKEN, startEmulator } from '../../emulator/emulator.ts';
import type { Bench } from './bench.ts';
import { compareBuilds } from './builds.ts';
import { comparePeers } from './compare.ts';
import {
  startsToMarkdown,
  summarise,
  summariseTail,
  tailToMarkdown,
  toMarkdown,
} from './report.ts';
import { SCENARIOS } from './scenarios.ts';
import { SERVICE } from './service.ts';
import { timeStart } from './start.ts';
import { measureTail } from './tail.ts';
import { describe, targetsOfPeers, targetsOfTail } from './targets.ts';
import { PROGRAMS, serviceIn } from './turns.ts';

// npm run bench: compares the service with other programs in one run, all on the Node that runs it.
// They take turns on one CPU; the load runs on the other. docs/performance.md explains the method
// and the figures.

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    scenarios: { type: 'string', default: String(SCENARIOS.length) },
    beside: { type: 'string', multiple: true, default: [] },
    only: { type: 'string', default: 'peers,tail,start' },
  },
});

const NODE = `Node ${process.versions.node}`;
const RESULTS = `tools/bench/results/node-${process.versions.node.split('.')[0]}`;
const scenarios = SCENARIOS.slice(0, Number(values.scenarios));
const checkouts = ['.', ...values.beside];
const print = (text: string): void => void process.stdout.write(`${text}\n`);

/** Each part prints its figures, and returns what its file in RESULTS contains. */
const PARTS: Readonly<Record<string, (bench: Bench) => Promise<object>>> = {
  peers: async (bench) => {
    const results = await comparePeers(bench, scenarios, PROGRAMS);
    const summaries = summarise(results, SERVICE);
    const targets = targetsOfPeers(summaries);
    print(`\n${toMarkdown(summaries, NODE)}\n\n${targets.map(describe).join('\n')}\n`);
    return { targets, summaries, results };
  },
  tail: async (bench) => {
    const results = await measureTail(bench);
    const summaries = summariseTail(results);
    const targets = targetsOfTail(summaries);
    print(`\n${tailToMarkdown(summaries, NODE)}\n\n${targets.map(describe).join('\n')}\n`);
    return { targets, summaries, results };
  },
  start: async (bench) => {
    const figures = await timeStart(bench, checkouts);
    print(`\n${startsToMarkdown(figures, NODE)}\n`);
    return { figures };
  },
  /** The service alone, as it was built in several checkouts. */
  builds: async (bench) => {
    const results = await compareBuilds(bench, scenarios, checkouts.map(serviceIn));
    const summaries = summarise(results, SERVICE);
    print(`\n${toMarkdown(summaries, NODE)}\n`);
    return { summaries, results };
  },
};

const run = async (): Promise<void> => {
  execFileSync('npm', ['install', '--silent', '--no-audit', '--no-fund', '--no-package-lock'], {
    cwd: 'tools/bench',
  });
  mkdirSync(RESULTS, { recursive: true });
  const directory = mkdtempSync(
    join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'banks-bench-'),
  );
  // nginx and Varnish switch from root to users of their own, which need access.
  chmodSync(directory, 0o755);
  const emulator = await startEmulator();
  const response = await fetch(`${emulator.baseUrl}/api/v1/banks`, {
    headers: { Authorization: `Bearer ${DEFAULT_ACCESS_TOKEN}` },
  });
  const banks: unknown = await response.json();
  if (!Array.isArray(banks)) throw new TypeError('the emulator did not send a list');

  const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)];
  const machine = { node: process.version, cpu: cpus()[0]?.model, processors: cpus().length };
  const only = new Set(values.only.split(','));
  try {
    for (const [name, measurePart] of Object.entries(PARTS)) {
      if (!only.has(name)) continue;
      emulator.setBanks(banks);
      const conditions = { at: new Date().toISOString(), ...machine, rounds, seconds };
      const part = await measurePart({ emulator, banks, directory, rounds, seconds, print });
      // One file per part, so that each can be measured again separately.
      const text = `${JSON.stringify({ conditions, ...part }, undefined, 2)}\n`;
      writeFileSync(join(RESULTS, `${name}.json`), text);
    }
  } finally {
    await emulator.close();
    rmSync(directory, { recursive: true, force: true });
  }
};

await run();
