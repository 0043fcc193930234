import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { DEFAULT_ACCESS_TOKEN, startEmulator, type Emulator } from '../emulator/emulator.ts';
import { floodCold, recordResponses } from './cold.ts';
import { CHROME, decode, inspect, measure, type RequestHeaders, type Sample } from './load.ts';
import { PEERS, type Peer, type Stage } from './peers.ts';
import { ALL_CPUS, freePort, start, type Running } from './processes.ts';
import { median, summarise, toMarkdown, toSvg, type Result } from './report.ts';

// npm run bench: compares the service with other programs in one run. They take turns on one CPU; the load runs on the
// other. docs/performance.md explains the method and the figures.

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
const print = (text: string): void => void process.stdout.write(`${text}\n`);

interface Scenario {
  readonly name: string;
  readonly headers: (etag: string) => RequestHeaders;
  readonly status: number;
}

const { 'Accept-Encoding': _, ...withoutEncodings } = CHROME;
const SCENARIOS: readonly Scenario[] = [
  { name: 'browser, 200 compressed', headers: () => CHROME, status: 200 },
  { name: 'revalidation, 304', headers: (etag) => ({ ...CHROME, 'If-None-Match': etag }), status: 304 },
  { name: 'identity, 200', headers: () => withoutEncodings, status: 200 },
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
  cpuList?: string,
): Promise<Running> =>
  start([[process.execPath, 'dist/src/main.js']], { ...serviceEnv(emulator, port), ...env }, cpuList);

/** Waits until `url` answers with 200. */
const waitUntilReady = async (url: string, tries = 400): Promise<void> => {
  for (let left = tries; left > 0; left -= 1) {
    const status = await inspect(url, CHROME).then(
      (response) => response.status,
      () => 0,
    );
    if (status === 200) return;
    await wait(50);
  }
  throw new Error(`${url} never answered with 200`);
};

/** Long enough for Node's compilers, which share the server's CPU: the p99 settles after four to six seconds. */
const warmUp = async (running: Running, url: string): Promise<void> => {
  const { etag } = await inspect(url, CHROME);
  for (const { headers } of SCENARIOS) await measure(running, { url, headers: headers(etag), seconds: 2 });
};

/** Checks a program's responses: a proxy that has cached an error would look fast. */
const check = async (name: string, url: string, expected: Buffer | undefined) => {
  const browser = await inspect(url, CHROME);
  const identity = await inspect(url, withoutEncodings);
  const notModified = await inspect(url, { ...CHROME, 'If-None-Match': browser.etag });
  const isGood =
    browser.status === 200 &&
    browser.encoding !== 'identity' &&
    identity.status === 200 &&
    identity.encoding === 'identity' &&
    decode(browser).equals(identity.body) &&
    (expected === undefined || expected.equals(identity.body)) &&
    notModified.status === 304 &&
    notModified.body.length === 0;
  if (!isGood) {
    const responses = [browser, identity, notModified].map(
      ({ status, encoding, body }) => `${status} ${encoding} ${body.length} bytes`,
    );
    throw new Error(`${name} sends wrong responses: ${responses.join(', ')}`);
  }
  return { browser, identity, wire: [browser, notModified, identity].map(({ wireBytes }) => wireBytes) };
};

const comparePeers = async (emulator: Emulator, directory: string): Promise<Result[]> => {
  const servicePort = await freePort();
  const url = `http://127.0.0.1:${servicePort}/banks`;
  const probe = await startService(emulator, servicePort);
  await waitUntilReady(url);
  const own = await check(SERVICE, url, undefined);
  const responsesFile = join(directory, 'responses.json');
  writeFileSync(responsesFile, JSON.stringify(await recordResponses(url, own)));
  await probe.stop();

  const stage: Stage = {
    directory,
    responsesFile,
    originPort: await freePort(),
    gzipOriginPort: await freePort(),
  };
  const origin = await start([
    [
      process.execPath,
      'bench/peers/origin.js',
      responsesFile,
      String(stage.originPort),
      String(stage.gzipOriginPort),
    ],
  ]);
  await waitUntilReady(`http://127.0.0.1:${stage.originPort}/`);

  const results = new Map<string, { wireBytes: number; samples: Sample[] }>();
  const service: Peer = { name: SERVICE, commands: () => [] };
  for (let round = 0; round < rounds; round += 1) {
    for (const peer of [service, ...PEERS]) {
      const port = await freePort();
      const commands = peer.commands(stage, port);
      if (!commands) {
        if (round === 0) print(`${peer.name}: not installed, skipped`);
        continue;
      }
      const peerUrl = `http://127.0.0.1:${port}/banks`;
      const running = peer === service ? await startService(emulator, port) : await start(commands);
      try {
        await waitUntilReady(peerUrl);
        const { browser, wire } = await check(peer.name, peerUrl, own.identity.body);
        await warmUp(running, peerUrl);
        for (const [index, { name, headers }] of SCENARIOS.entries()) {
          const sample = await measure(running, { url: peerUrl, headers: headers(browser.etag), seconds });
          const key = `${peer.name}|${name}`;
          const result = results.get(key) ?? { wireBytes: wire[index] ?? 0, samples: [] };
          result.samples.push(sample);
          results.set(key, result);
        }
      } catch (error) {
        print(`${peer.name}: failed in round ${round + 1}: ${String(error)}`);
      } finally {
        await running.stop();
      }
    }
    print(`round ${round + 1} of ${rounds} done`);
  }
  await origin.stop();
  return SCENARIOS.flatMap(({ name: scenario }) =>
    [service, ...PEERS].flatMap(({ name: peer }) => {
      const found = results.get(`${peer}|${scenario}`);
      return found ? [{ peer, scenario, ...found }] : [];
    }),
  );
};

/** The cost of longer lists. */
const compareSizes = async (emulator: Emulator, banks: readonly unknown[]): Promise<object[]> => {
  const rows: object[] = [];
  for (const size of values.sizes.split(',').map(Number)) {
    emulator.setBanks(
      Array.from({ length: size }, (__, index) => renamed(banks[index % banks.length], index)),
    );
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/banks`;
    const running = await startService(emulator, port);
    await waitUntilReady(url);
    await wait(2_000);
    const rssAtRestMb = running.rssMb();
    const { browser, identity } = await check(SERVICE, url, undefined);
    await warmUp(running, url);
    const costs: Record<string, number> = {};
    let rssAtLoadMb = 0;
    for (const { name, headers } of SCENARIOS) {
      const samples: Sample[] = [];
      for (let attempt = 0; attempt < 3; attempt += 1)
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
 * The effect of list changes on requests: measures without changes and with one every second, in turn. The service may
 * use all CPUs, as in production, because encoding runs on threads of its own. They also compete with wrk for its CPU,
 * so the p99 includes wrk's own delays; the event loop's delay does not.
 */
const compareRenewal = async (emulator: Emulator, banks: readonly unknown[]): Promise<object> => {
  const measured = { none: [] as RenewalSample[], everySecond: [] as RenewalSample[] };
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
      await waitUntilReady(url);
      await warmUp(running, url);
      // Each scrape resets the histogram.
      await loopDelayP99Ms(managementPort);
      const { p99Ms } = await measure(running, { url, headers: CHROME, seconds: seconds + 2 });
      measured[name].push({ p99Ms, loopDelayP99Ms: await loopDelayP99Ms(managementPort) });
      clearInterval(timer);
      await running.stop();
    }
  }
  const increaseOf = (figure: keyof RenewalSample): number => {
    const of = (samples: readonly RenewalSample[]): number => median(samples.map((sample) => sample[figure]));
    return of(measured.everySecond) - of(measured.none);
  };
  return {
    p99MovedByMs: increaseOf('p99Ms'),
    loopDelayP99MovedByMs: increaseOf('loopDelayP99Ms'),
    measured,
  };
};

interface RenewalSample {
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
  const result = await floodCold(`http://127.0.0.1:${port}`, { requests: 50_000, connections: 1_000 });
  await running.stop();
  await emulator.behave('healthy');
  return { ...result, upstreamCalls: emulator.listCalls() - before };
};

/** Time from starting Node to the first 200, on all CPUs, with a saved list on disk and a provider that never answers. */
const timeStart = async (emulator: Emulator, directory: string): Promise<object> => {
  const env = { CACHE_SNAPSHOT_FILE: join(directory, 'snapshot.json') };
  const startedMs: number[] = [];
  const rss: number[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const port = await freePort();
    // Round 0 writes the snapshot.
    if (round > 0) await emulator.behave('hang');
    const startedAtMs = performance.now();
    const running = await startService(emulator, port, env, ALL_CPUS);
    const url = `http://127.0.0.1:${port}/banks`;
    for (;;) {
      const response = await inspect(url, CHROME).catch(() => undefined);
      if (response?.status === 200) break;
      await wait(5);
    }
    if (round > 0) startedMs.push(performance.now() - startedAtMs);
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
  // nginx and Varnish switch from root to users of their own, which need access.
  chmodSync(directory, 0o755);
  const emulator = await startEmulator();
  const response = await fetch(`${emulator.baseUrl}/api/v1/banks`, {
    headers: { Authorization: `Bearer ${DEFAULT_ACCESS_TOKEN}` },
  });
  const banks: unknown = await response.json();
  if (!Array.isArray(banks)) throw new TypeError('the emulator did not send a list');

  const machine = { node: process.version, cpu: cpus()[0]?.model, processors: cpus().length };
  const conditions = { at: new Date().toISOString(), ...machine, rounds, seconds };
  const report: Record<string, unknown> = {};
  try {
    if (only.has('peers')) {
      const results = await comparePeers(emulator, directory);
      const summaries = summarise(results, SERVICE);
      report['peers'] = { conditions, summaries, results };
      writeFileSync(join(RESULTS, 'peers.svg'), toSvg(summaries, SERVICE));
      print(`\n${toMarkdown(summaries)}\n`);
    }
    const parts: readonly (readonly [string, () => Promise<unknown>])[] = [
      ['start', () => timeStart(emulator, directory)],
      ['renewal', () => compareRenewal(emulator, banks)],
      ['cold', () => timeCold(emulator)],
      ['sizes', () => compareSizes(emulator, banks)],
    ];
    for (const [name, work] of parts) {
      if (!only.has(name)) continue;
      emulator.setBanks(banks);
      const figures = await work();
      report[name] = { conditions, figures };
      print(`${name}: ${JSON.stringify(figures, undefined, 1)}`);
    }
    // One file per part, so that each can be measured again separately.
    for (const [name, part] of Object.entries(report))
      writeFileSync(join(RESULTS, `${name}.json`), `${JSON.stringify(part, undefined, 2)}\n`);
  } finally {
    await emulator.close();
    rmSync(directory, { recursive: true, force: true });
  }
};

await run();
