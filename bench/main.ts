import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { DEFAULT_ACCESS_TOKEN, startEmulator, type Emulator } from '../emulator/emulator.ts';
import { answersIn, floodCold } from './cold.ts';
import { CHROME, decode, look, measure, type Fields, type Sample } from './load.ts';
import { PEERS, type Peer, type Stage } from './peers.ts';
import { ALL_CPUS, freePort, start, type Running } from './processes.ts';
import { median, summarise, toMarkdown, toSvg, type Result } from './report.ts';

// npm run bench: this service beside its peers, in one run, interleaved, on one processor, the load on the other.
// docs/performance.md says how to read it.

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    sizes: { type: 'string', default: '50,500,5000,50000' },
    only: { type: 'string', default: 'peers,sizes,renewal,cold,start' },
  },
});
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);
const only = new Set(values.only.split(','));

const SERVICE = 'banks-bff';
const RESULTS = 'bench/results';
const say = (text: string): void => void process.stdout.write(`${text}\n`);

interface Scenario {
  readonly name: string;
  readonly headers: (etag: string) => Fields;
  readonly status: number;
}

const { 'Accept-Encoding': _, ...withoutCodings } = CHROME;
const SCENARIOS: readonly Scenario[] = [
  { name: 'browser, 200 compressed', headers: () => CHROME, status: 200 },
  { name: 'revalidation, 304', headers: (etag) => ({ ...CHROME, 'If-None-Match': etag }), status: 304 },
  { name: 'identity, 200', headers: () => withoutCodings, status: 200 },
];

const serviceEnv = (emulator: Emulator, port: number): Record<string, string> => ({
  PORT: String(port),
  HOST: '127.0.0.1',
  MANAGEMENT_PORT: 'off',
  PROVIDER_ENVIRONMENT: 'sandbox',
  PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl,
  PROVIDER_ACCESS_TOKEN: DEFAULT_ACCESS_TOKEN,
  PROVIDER_MAX_BODY: '100mb',
  PROVIDER_TIMEOUT: '60s',
  BANK_FIELDS: 'code,ispb,name,fullName',
  NODE_ENV: 'production',
});

const startService = (
  emulator: Emulator,
  port: number,
  env: Record<string, string> = {},
  processors?: string,
): Promise<Running> =>
  start([[process.execPath, 'dist/src/main.js']], { ...serviceEnv(emulator, port), ...env }, processors);

/** Waits until `url` answers 200. */
const ready = async (url: string, tries = 400): Promise<void> => {
  for (let left = tries; left > 0; left -= 1) {
    const status = await look(url, CHROME).then(
      (looked) => looked.status,
      () => 0,
    );
    if (status === 200) return;
    await wait(50);
  }
  throw new Error(`${url} never answered`);
};

/** Long enough for compilers that share the server's processor: a p99 settles after four to six seconds. */
const warmUp = async (running: Running, url: string): Promise<void> => {
  const { etag } = await look(url, CHROME);
  for (const { headers } of SCENARIOS) await measure(running, { url, headers: headers(etag), seconds: 2 });
};

/** What one peer answers, checked: a proxy that has cached a refusal looks fast. */
const check = async (name: string, url: string, expected: Buffer | undefined) => {
  const browser = await look(url, CHROME);
  const identity = await look(url, withoutCodings);
  const held = await look(url, { ...CHROME, 'If-None-Match': browser.etag });
  const isGood =
    browser.status === 200 &&
    browser.coding !== 'identity' &&
    identity.status === 200 &&
    identity.coding === 'identity' &&
    decode(browser).equals(identity.body) &&
    (expected === undefined || expected.equals(identity.body)) &&
    held.status === 304 &&
    held.body.length === 0;
  if (!isGood) {
    const told = [browser, identity, held].map(
      ({ status, coding, body }) => `${status} ${coding} ${body.length}`,
    );
    throw new Error(`${name} answers wrongly: ${told.join(', ')}`);
  }
  return { browser, identity, held, wire: [browser, held, identity].map(({ wireBytes }) => wireBytes) };
};

const comparePeers = async (emulator: Emulator, directory: string): Promise<Result[]> => {
  const servicePort = await freePort();
  const url = `http://127.0.0.1:${servicePort}/banks`;
  const probe = await startService(emulator, servicePort);
  await ready(url);
  const own = await check(SERVICE, url, undefined);
  const answersFile = join(directory, 'answers.json');
  writeFileSync(answersFile, JSON.stringify(await answersIn(url, own)));
  await probe.stop();

  const stage: Stage = {
    directory,
    answersFile,
    originPort: await freePort(),
    gzipOriginPort: await freePort(),
  };
  const origin = await start([
    [
      process.execPath,
      'bench/peers/origin.js',
      answersFile,
      String(stage.originPort),
      String(stage.gzipOriginPort),
    ],
  ]);
  await ready(`http://127.0.0.1:${stage.originPort}/`);

  const results = new Map<string, { wireBytes: number; samples: Sample[] }>();
  const service: Peer = { name: SERVICE, isNode: true, commands: () => [] };
  for (let round = 0; round < rounds; round += 1) {
    for (const peer of [service, ...PEERS]) {
      const port = await freePort();
      const commands = peer.commands(stage, port);
      if (!commands) {
        if (round === 0) say(`${peer.name}: not installed, left out`);
        continue;
      }
      const peerUrl = `http://127.0.0.1:${port}/banks`;
      const running = peer === service ? await startService(emulator, port) : await start(commands);
      try {
        await ready(peerUrl);
        const { browser, wire } = await check(peer.name, peerUrl, own.identity.body);
        await warmUp(running, peerUrl);
        for (const [index, { name, headers }] of SCENARIOS.entries()) {
          const sample = await measure(running, { url: peerUrl, headers: headers(browser.etag), seconds });
          const key = `${peer.name}|${name}`;
          const known = results.get(key) ?? { wireBytes: wire[index] ?? 0, samples: [] };
          known.samples.push(sample);
          results.set(key, known);
        }
      } catch (error) {
        say(`${peer.name}: left out of round ${round + 1}: ${String(error)}`);
      } finally {
        await running.stop();
      }
    }
    say(`round ${round + 1} of ${rounds} done`);
  }
  await origin.stop();
  return SCENARIOS.flatMap(({ name: scenario }) =>
    [service, ...PEERS].flatMap(({ name: peer }) => {
      const found = results.get(`${peer}|${scenario}`);
      return found ? [{ peer, scenario, ...found }] : [];
    }),
  );
};

/** What more banks cost. */
const compareSizes = async (emulator: Emulator, banks: readonly unknown[]): Promise<object[]> => {
  const rows: object[] = [];
  for (const size of values.sizes.split(',').map(Number)) {
    emulator.setBanks(
      Array.from({ length: size }, (__, index) => renamed(banks[index % banks.length], index)),
    );
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/banks`;
    const running = await startService(emulator, port);
    await ready(url);
    await wait(2_000);
    const rssAtRestMb = running.rssMb();
    const { browser, identity } = await check(SERVICE, url, undefined);
    await warmUp(running, url);
    const costs: Record<string, number> = {};
    let rssAtLoadMb = 0;
    for (const { name, headers } of SCENARIOS) {
      const samples: Sample[] = [];
      for (let time = 0; time < 3; time += 1)
        samples.push(await measure(running, { url, headers: headers(browser.etag), seconds: 1 }));
      costs[name] = median(samples.map(({ cpuUs }) => cpuUs));
      rssAtLoadMb = Math.max(rssAtLoadMb, ...samples.map(({ rssMb }) => rssMb));
    }
    await running.stop();
    rows.push({
      banks: size,
      identityBytes: identity.body.length,
      compressedBytes: browser.body.length,
      ...Object.fromEntries(
        Object.entries(costs).map(([name, us]) => [`µs ${name}`, Math.round(us * 10) / 10]),
      ),
      rssAtRestMb: Math.round(rssAtRestMb),
      rssAtLoadMb: Math.round(rssAtLoadMb),
    });
  }
  return rows;
};

const renamed = (bank: unknown, index: number): unknown =>
  typeof bank === 'object' ? { ...bank, code: String(index).padStart(5, '0') } : bank;

/**
 * What changed lists cost those who ask meanwhile: one each second, and none, in turn. All processors are for all, as
 * on a machine that serves: encoding has threads of its own. The load's p99 has the load's own waits in it, for those
 * threads take its processor; the event loop's delay has none but the service's.
 */
const compareRenewal = async (emulator: Emulator, banks: readonly unknown[]): Promise<object> => {
  const measured = { none: [] as Unrest[], everySecond: [] as Unrest[] };
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, ttl] of [
      ['none', '1h'],
      ['everySecond', '1s'],
    ] as const) {
      const [port, managementPort] = [await freePort(), await freePort()];
      const url = `http://127.0.0.1:${port}/banks`;
      const env = {
        CACHE_TTL: ttl,
        GUARD_MAX_SHRINK: '100%',
        MANAGEMENT_PORT: String(managementPort),
        MANAGEMENT_HOST: '127.0.0.1',
      };
      let version = 0;
      const timer = setInterval(
        () => emulator.setBanks(banks.map((bank) => renamed(bank, (version += 1)))),
        300,
      );
      const running = await startService(emulator, port, env, ALL_CPUS);
      await ready(url);
      await warmUp(running, url);
      // Each scrape begins the histogram anew.
      await loopDelayP99Ms(managementPort);
      const { p99Ms } = await measure(running, { url, headers: CHROME, seconds: seconds + 2 });
      measured[name].push({ p99Ms, loopDelayP99Ms: await loopDelayP99Ms(managementPort) });
      clearInterval(timer);
      await running.stop();
    }
  }
  const movedBy = (figure: keyof Unrest): number => {
    const of = (samples: readonly Unrest[]): number => median(samples.map((sample) => sample[figure]));
    return of(measured.everySecond) - of(measured.none);
  };
  return {
    p99MovedByMs: movedBy('p99Ms'),
    loopDelayP99MovedByMs: movedBy('loopDelayP99Ms'),
    measured,
  };
};

interface Unrest {
  readonly p99Ms: number;
  readonly loopDelayP99Ms: number;
}

const loopDelayP99Ms = async (managementPort: number): Promise<number> => {
  const metrics = await (await fetch(`http://127.0.0.1:${managementPort}/metrics`)).text();
  return Number(/^nodejs_eventloop_lag_p99_seconds (\S+)/m.exec(metrics)?.[1]) * 1_000;
};

const timeCold = async (emulator: Emulator): Promise<object> => {
  await emulator.behave('slow', { delayMs: 3_000 });
  const before = emulator.listCalls();
  const port = await freePort();
  const running = await startService(emulator, port);
  const told = await floodCold(`http://127.0.0.1:${port}`, { requests: 50_000, connections: 1_000 });
  await running.stop();
  await emulator.behave('healthy');
  return { ...told, upstreamCalls: emulator.listCalls() - before };
};

/** From starting Node to the first good answer, on all processors, the last good list on disk and the provider silent. */
const timeStart = async (emulator: Emulator, directory: string): Promise<object> => {
  const env = { CACHE_SNAPSHOT_FILE: join(directory, 'snapshot.json') };
  const startedMs: number[] = [];
  const rss: number[] = [];
  for (let time = 0; time <= rounds; time += 1) {
    const port = await freePort();
    if (time > 0) await emulator.behave('hang');
    const startedAtMs = performance.now();
    const running = await startService(emulator, port, env, ALL_CPUS);
    const url = `http://127.0.0.1:${port}/banks`;
    for (;;) {
      const looked = await look(url, CHROME).catch(() => undefined);
      if (looked?.status === 200) break;
      await wait(5);
    }
    if (time > 0) startedMs.push(performance.now() - startedAtMs);
    await wait(1_000);
    rss.push(running.rssMb());
    await running.stop();
  }
  await emulator.behave('healthy');
  return { medianMs: median(startedMs), minMs: Math.min(...startedMs), rssAtRestMb: Math.max(...rss) };
};

const run = async (): Promise<void> => {
  execFileSync('npm', ['install', '--silent', '--no-audit', '--no-fund', '--no-package-lock'], {
    cwd: 'bench',
  });
  mkdirSync(RESULTS, { recursive: true });
  const directory = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'banks-bench-'));
  // nginx and Varnish give up root for users of their own, who must be able to enter.
  chmodSync(directory, 0o755);
  const emulator = await startEmulator();
  const answer = await fetch(`${emulator.baseUrl}/api/v1/banks`, {
    headers: { Authorization: `Bearer ${DEFAULT_ACCESS_TOKEN}` },
  });
  const banks: unknown = await answer.json();
  if (!Array.isArray(banks)) throw new TypeError('the emulator gave no list');

  const machine = { node: process.version, cpu: cpus()[0]?.model, processors: cpus().length };
  const conditions = { at: new Date().toISOString(), ...machine, rounds, seconds };
  const report: Record<string, unknown> = {};
  try {
    if (only.has('peers')) {
      const results = await comparePeers(emulator, directory);
      const summaries = summarise(results, SERVICE);
      report['peers'] = { conditions, summaries, results };
      writeFileSync(join(RESULTS, 'peers.svg'), toSvg(summaries, SERVICE));
      say(`\n${toMarkdown(summaries)}\n`);
    }
    const more: readonly (readonly [string, () => Promise<unknown>])[] = [
      ['start', () => timeStart(emulator, directory)],
      ['renewal', () => compareRenewal(emulator, banks)],
      ['cold', () => timeCold(emulator)],
      ['sizes', () => compareSizes(emulator, banks)],
    ];
    for (const [name, work] of more) {
      if (!only.has(name)) continue;
      emulator.setBanks(banks);
      const figures = await work();
      report[name] = { conditions, figures };
      say(`${name}: ${JSON.stringify(figures, undefined, 1)}`);
    }
    // One file each: a part can be measured again by itself.
    for (const [name, part] of Object.entries(report))
      writeFileSync(join(RESULTS, `${name}.json`), `${JSON.stringify(part, undefined, 2)}\n`);
  } finally {
    await emulator.close();
    rmSync(directory, { recursive: true, force: true });
  }
};

await run();
