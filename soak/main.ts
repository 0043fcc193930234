import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startRedis } from '../test/kit/redis-process.ts';
import { createRandom } from '../test/kit/random.ts';
import { startFaults } from './faults.ts';
import { createFindings } from './findings.ts';
import { createGate, pause } from './gate.ts';
import { createLateness } from './lateness.ts';
import { createLogJudge } from './log.ts';
import { createOddRequests, floodOverCapacity, startRudeClients, type OddOptions } from './odd.ts';
import { createOracle } from './oracle.ts';
import { createClients } from './ordinary.ts';
import { environment } from './policy.ts';
import { startProvider } from './provider.ts';
import {
  describeMachine,
  findGrowth,
  summariseLatencies,
  type Report,
  type Rest,
  type Sample,
} from './report.ts';
import { startService } from './service.ts';

// npm run soak: an hour of everything at once, in real time, against the built service as a process of its own. Each answer
// is judged by what the contract allows at that time; memory and file descriptors must stay flat. Needs redis-server.

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    rate: { type: 'string', default: '250' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    report: { type: 'string' },
  },
});
const minutes = Number(values.minutes);
const rate = Number(values.rate);
const seed = Number(values.seed);
if (!(minutes > 0 && rate > 0 && Number.isInteger(seed)))
  throw new RangeError('--minutes, --rate and --seed are numbers');
const quarterMs = (minutes * 60_000) / 4;
/** Of the requests; the others are odd or hostile. */
const ORDINARY_SHARE = 0.88;
const SAMPLE_EVERY_MS = Math.min(15_000, quarterMs / 5);
const MAX_UNDER_WAY = 1_000;

const print = (text: string): void => void process.stdout.write(`${text}\n`);
const randomFor = (use: number): (() => number) => createRandom(seed + use);
print(`seed ${seed}, ${minutes} minutes, ${rate} requests a second`);

const directory = mkdtempSync(join(tmpdir(), 'banks-bff-soak-'));
const snapshotFile = join(directory, 'snapshot');
const secrets = {
  clientSecret: 'soak-Kx7/+client=secret&0815',
  managementToken: 'soak-operator-Zq8+token.4711',
};
const findings = createFindings();
const onDefect = (error: unknown): void =>
  findings.fail('soak', 'a defect of the soak', error instanceof Error ? error.stack : String(error));
const providerCalls: Record<string, number> = {};
const lateness = createLateness();
const provider = await startProvider({
  clientSecret: secrets.clientSecret,
  random: randomFor(1),
  lateness,
  onFailure: (problem, detail) => findings.fail('provider', problem, detail),
  onCall: (path, status) => {
    const name = `${path} ${status ?? 'cut off'}`;
    providerCalls[name] = (providerCalls[name] ?? 0) + 1;
  },
});
const redis = await startRedis();
process.once('exit', () => void redis.kill());
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
const log = createLogJudge(
  () =>
    new Map([
      ...Object.entries(secrets),
      ...[...provider.tokens].map((token, index) => [`access token ${index}`, token] as const),
    ]),
  findings,
);
const oracle = createOracle(provider, lateness);
const { baseUrl, tokenUrl } = provider.emulator;
const service = await startService(
  environment(secrets, { baseUrl, tokenUrl, redisUrl: redis.url, snapshotFile }),
  {
    onLine: (line, isError) => log.onLine(line, isError),
    onEnd: (how) => findings.fail('service', 'it ended', how),
  },
);
lateness.watch(service.pid);
const { publicUrl, managementUrl } = service;

/** One exchange on a connection of its own. */
const get = async (url: string): Promise<{ status: number; text: string }> => {
  const response = await fetch(url, {
    headers: { connection: 'close' },
    signal: AbortSignal.timeout(30_000),
  });
  return { status: response.status, text: await response.text() };
};
while ((await get(`${publicUrl}/readyz`)).status !== 200) await pause(50);

const oddOptions: OddOptions = {
  publicUrl,
  managementUrl,
  secret: secrets.managementToken,
  random: randomFor(2),
  oracle,
  findings,
  lateness,
};

const clients = createClients({ url: publicUrl, random: randomFor(3), oracle, findings });
const sendOdd = createOddRequests(oddOptions);

// Load, at a constant rate whatever the answers take.
const load = createGate(onDefect);
const chance = randomFor(4);
let underWay = 0;
let owed = 0;
let lastTickMs = performance.now();
const dispatch = (): void => {
  const nowMs = performance.now();
  // After a stop of this process there is no burst.
  owed = load.isOpen ? Math.min(rate / 4, owed + ((nowMs - lastTickMs) / 1_000) * rate) : 0;
  lastTickMs = nowMs;
  for (; owed >= 1; owed -= 1) {
    if (underWay >= MAX_UNDER_WAY) {
      findings.count('all', 'not sent: too many wait for their answers');
      const now = { sentMs: nowMs, receivedMs: nowMs };
      if (!lateness.isStarved() && !oracle.isFlooded(now))
        findings.fail('soak', `more than ${MAX_UNDER_WAY} requests wait`);
      continue;
    }
    underWay += 1;
    load.track((chance() < ORDINARY_SHARE ? clients.send() : sendOdd()).finally(() => (underWay -= 1)));
  }
};
const dispatching = setInterval(dispatch, 10);
startRudeClients(load, oddOptions);
const faults = createGate(onDefect);
startFaults(faults, {
  provider,
  redis,
  oracle,
  managementUrl,
  managementToken: secrets.managementToken,
  signal: (name) => service.signal(name),
  random: randomFor(5),
  findings,
});

// Probes, scrapes and samples go on through the rests.
const watching = createGate(onDefect);
const samples: Sample[] = [];
const startedAtMs = performance.now();
let quarter = 1;
const probe = async (url: string, path: string): Promise<void> => {
  const kind = `probe ${path}${url === managementUrl ? ', management port' : ''}`;
  const sentMs = performance.now();
  const { status, text } = await get(url + path).catch((error: unknown) => ({
    status: 0,
    text: String(error),
  }));
  const when = { sentMs, receivedMs: performance.now() };
  findings.count(kind, status);
  log.judgeText(kind, text);
  const isAllowed = status === 200 || (path === '/readyz' && status === 503 && oracle.mayLackList(when));
  if (!isAllowed) findings.fail(kind, `status ${status}`, text);
};
watching.repeat(async (signal) => {
  for (const url of [publicUrl, managementUrl])
    for (const path of ['/healthz', '/readyz']) await probe(url, path);
  await probe(managementUrl, '/');
  await pause(3_000, signal);
});
watching.repeat(async (signal) => {
  const { status, text } = await get(`${managementUrl}/metrics`);
  findings.count('scrape', status);
  log.judgeText('scrape', text);
  const second = Math.round((performance.now() - startedAtMs) / 1_000);
  if (load.isOpen && faults.isOpen && second * 1_000 >= samples.length * SAMPLE_EVERY_MS)
    samples.push({
      second,
      rssMb: service.usage().rssMb,
      eventLoopDelayP99Ms: 1_000 * Number(/^nodejs_eventloop_lag_p99_seconds (\S+)$/m.exec(text)?.[1]),
      metricSeries: text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length,
    });
  await pause(Math.min(5_000, SAMPLE_EVERY_MS), signal);
});

/** Stops the faults once they are over, then the load, and compares when the connections are closed. */
const rest = async (): Promise<Rest> => {
  await faults.close();
  await load.close();
  await clients.close();
  let { fds } = service.usage();
  for (let still = 0, tries = 0; still < 6 && tries < 60; tries += 1) {
    await pause(500);
    const now = service.usage().fds;
    still = now === fds ? still + 1 : 0;
    fds = now;
  }
  const heldMb = await service.heldMb();
  const { rssMb } = service.usage();
  return { quarter, heldMb, rssMb, fds };
};

const rests: Rest[] = [];
for (; quarter <= 4 && !service.hasEnded; quarter += 1) {
  const endMs = startedAtMs + quarter * quarterMs;
  const untilMs = (share: number): number => Math.max(0, endMs - quarterMs * (1 - share) - performance.now());
  await pause(untilMs(0.45));
  if (quarter % 2 === 0 || quarterMs > 60_000) {
    const flood = floodOverCapacity(oddOptions);
    load.track(flood);
    await flood;
  }
  while (performance.now() < endMs && !service.hasEnded) await pause(Math.min(1_000, untilMs(1)));
  if (service.hasEnded) break;
  rests.push(await rest());
  print(
    `after quarter ${quarter}: ${JSON.stringify(rests.at(-1))}, ${findings.total()} answers or facts that are not allowed`,
  );
  if (quarter < 4) {
    load.open();
    faults.open();
  }
}
for (const gate of [load, faults, watching]) gate.end();
await watching.close();
clearInterval(dispatching);
lateness.end();
const exitStatus = await service.stop();
if (exitStatus !== 0) findings.fail('service', `exit status ${exitStatus} after SIGTERM`);
log.judgeText('snapshot', readFileSync(snapshotFile, 'utf8'));
await Promise.all([redis.kill(), provider.emulator.close()]);
rmSync(directory, { recursive: true });

const notFlat = findGrowth(samples, rests);
const report: Report = {
  node: process.version,
  machine: describeMachine(),
  seed,
  minutes,
  requestsPerSecond: rate,
  starvedPercent: Math.round(lateness.starvedShare() * 1_000) / 10,
  answers: clients.count(),
  latencyMs: summariseLatencies(clients.latenciesMs, clients.count()),
  providerCalls,
  listVersions: provider.versionCount(),
  logLines: log.lines(),
  exitStatus,
  notAllowed: findings.total(),
  notFlat,
  rests,
  counts: findings.counts(),
  failures: findings.shown,
  samples,
};
if (values.report !== undefined) writeFileSync(values.report, `${JSON.stringify(report, null, 2)}\n`);
const { samples: _samples, ...figures } = report;
print(JSON.stringify(figures, null, 2));
// A connection of the last turn may still be open.
process.exit(findings.total() > 0 || notFlat.length > 0 ? 1 : 0);
