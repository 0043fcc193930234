import { mkdtempSync, existsSync, rmSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { brotliDecompressSync } from 'node:zlib';
import { startEmulator } from '../../emulator/emulator.ts';
import { findFreePort } from '../../test/helpers/free-port.ts';
import { measure, SCENARIOS, VARIED, type Sample } from './load.ts';
import { start, type Running } from './processes.ts';
import { peers, serviceIn, upstream, type Program } from './programs.ts';
import { toTable } from './report.ts';
import { ask, record } from './responses.ts';

// npm run bench: the CPU time per request and the latency of the built service, beside other
// programs that send the same bytes, or with `--against DIR` beside its build in another checkout.
// docs/performance.md explains the method. Needs Linux with two CPUs, and wrk.

const { values } = parseArgs({
  options: {
    against: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '2' },
    rate: { type: 'string', default: '2000' },
  },
});
const [rounds, seconds, rate] = [values.rounds, values.seconds, values.rate].map(Number);
if (!rounds || !seconds || !rate)
  throw new RangeError('--rounds, --seconds, --rate: numbers above 0');

/** Node compiles its code on the same CPU: its p99 settles after some seconds. */
const WARM_UP_SECONDS = 4;

const print = (text: string): void => void process.stdout.write(`${text}\n`);

/** A program in one round. */
interface Contestant {
  readonly name: string;
  readonly running: Running;
  readonly url: string;
  readonly etag: string;
}

/** The samples of one program in all rounds. */
interface Measured {
  readonly program: string;
  readonly full: Map<string, Sample[]>;
  readonly atRate: Sample[];
  peakRssMb: number;
}

const run = async (program: Program): Promise<{ running: Running; url: string; port: number }> => {
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}/banks`;
  return { running: await start(program.commands(port), program.env ?? {}, url), url, port };
};

/** @throws {Error} if it sends another list: a proxy that has cached an error would look fast */
const enter = async (program: Program, expected: Buffer): Promise<Contestant> => {
  const { running, url } = await run(program);
  const { status, etag, body } = await ask(url, { 'Accept-Encoding': 'gzip, br' });
  const notModified = await ask(url, { 'Accept-Encoding': 'gzip, br', 'If-None-Match': etag });
  const isSame = status === 200 && brotliDecompressSync(body).equals(expected);
  if (!isSame || notModified.status !== 304) {
    await running.stop();
    throw new Error(`${program.name} sends ${status}, ${body.length} bytes, ${notModified.status}`);
  }
  for (const scenario of SCENARIOS)
    await measure(running, url, {
      scenario,
      etag,
      seconds: scenario === VARIED ? WARM_UP_SECONDS : 1,
    });
  return { name: program.name, running, url, etag };
};

/** All programs run, and take turns: what else happens on the machine hits all of them alike. */
const playRound = async (
  contestants: readonly Contestant[],
  results: readonly Measured[],
): Promise<void> => {
  const of = (name: string): Measured | undefined =>
    results.find(({ program }) => program === name);
  for (const order of [contestants, contestants.toReversed()]) {
    for (const scenario of SCENARIOS)
      for (const { name, running, url, etag } of order) {
        const sample = await measure(running, url, { scenario, etag, seconds });
        of(name)?.full.get(scenario.name)?.push(sample);
      }
    for (const { name, running, url, etag } of order) {
      const load = { scenario: VARIED, etag, seconds: seconds + 1, rate };
      of(name)?.atRate.push(await measure(running, url, load));
    }
  }
  for (const { name, running } of contestants) {
    const result = of(name);
    if (result) result.peakRssMb = Math.max(result.peakRssMb, running.peakRssMb());
  }
};

const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'banks-bench-'));
const emulator = await startEmulator();
const stops: (() => Promise<void>)[] = [() => emulator.close()];
try {
  print(
    `Node ${process.versions.node}, ${cpus().length} × ${cpus()[0]?.model ?? 'unknown CPU'}, ` +
      `load average ${loadavg()[0]?.toFixed(2)}`,
  );
  const service = serviceIn('.', emulator);
  const recorded = join(folder, 'responses.json');
  const first = await run(service);
  const { body: expected } = await ask(first.url, {});
  await record(first.url, recorded);
  await first.running.stop();
  const source = await run(upstream(recorded));
  stops.push(() => source.running.stop());
  const programs = values.against
    ? [service, serviceIn(values.against, emulator)]
    : [
        service,
        serviceIn('.', emulator, { HOT_PATH: 'off' }),
        ...peers(recorded, source.port, folder),
      ];
  const results: readonly Measured[] = programs.map(({ name }) => ({
    program: name,
    full: new Map(SCENARIOS.map((scenario) => [scenario.name, []])),
    atRate: [],
    peakRssMb: 0,
  }));
  for (let round = 1; round <= rounds; round += 1) {
    const contestants: Contestant[] = [];
    try {
      for (const program of programs) contestants.push(await enter(program, expected));
      await playRound(contestants, results);
    } finally {
      for (const { running } of contestants) await running.stop();
    }
    print(`round ${round} of ${rounds} done`);
  }
  print(`\n${toTable(results, rate)}`);
} finally {
  for (const stop of stops.toReversed()) await stop();
  rmSync(folder, { recursive: true });
}
