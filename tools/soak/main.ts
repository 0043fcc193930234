import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { INTERNAL_DETAIL } from '../../emulator/answers.ts';
import { startRedis } from '../../test/helpers/redis-process.ts';
import { createRandom } from '../../test/helpers/random.ts';
import { waitUntil } from '../../test/helpers/wait-until.ts';
import { startFaults } from './faults.ts';
import { createFindings } from './findings.ts';
import { createGate, pause } from './gate.ts';
import { createLateness } from './lateness.ts';
import { createLogJudge } from './log.ts';
import { createOddRequests, floodOverCapacity, startRudeClients } from './odd.ts';
import { createOracle } from './oracle.ts';
import { createClients } from './ordinary.ts';
import { ENVIRONMENT } from './policy.ts';
import { startProvider } from './provider.ts';
import { findGrowth, summariseLatencies, type Rest } from './report.ts';
import { startService } from './service.ts';
import type { Soak } from './soak.ts';

// npm run soak: an hour of everything at once, in real time, against the built service as a process
// of its own. Each response is checked by what the contract allows at that time; memory and file
// descriptors must stay flat. Needs redis-server.

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
  },
});
const minutes = Number(values.minutes);
const seed = Number(values.seed);
if (!(minutes > 0 && Number.isInteger(seed)))
  throw new RangeError('--minutes and --seed are numbers');
const quarterMs = (minutes * 60_000) / 4;
const REQUESTS_PER_SECOND = 250;
/** Of the requests; the others are odd or hostile. */
const ORDINARY_SHARE = 0.88;
const MAX_UNDER_WAY = 1_000;

const print = (text: string): void => void process.stdout.write(`${text}\n`);
const randomFor = (use: number): (() => number) => createRandom(seed + use);
print(`seed ${seed}, ${minutes} minutes, ${REQUESTS_PER_SECOND} requests a second`);

const directory = mkdtempSync(join(tmpdir(), 'banks-bff-soak-'));
const snapshotFile = join(directory, 'snapshot');
const clientSecret = 'soak-Kx7/+client=secret&0815';
const managementToken = 'soak-operator-Zq8+token.4711';
const findings = createFindings();
const onDefect = (error: unknown): void =>
  findings.fail(
    'soak',
    'a defect of the soak',
    error instanceof Error ? error.stack : String(error),
  );
const lateness = createLateness();
const provider = await startProvider({ clientSecret, random: randomFor(1), lateness, findings });
const redis = await startRedis();
process.once('exit', () => void redis.kill());
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
const log = createLogJudge(
  () =>
    new Map([
      ['client secret', clientSecret],
      ['management token', managementToken],
      ["the provider's internal detail", INTERNAL_DETAIL],
      ...[...provider.tokens].map((token, index) => [`access token ${index}`, token] as const),
    ]),
  findings,
);
const oracle = createOracle(provider, lateness);
const service = await startService(
  {
    ...ENVIRONMENT,
    MANAGEMENT_TOKEN: managementToken,
    PROVIDER_SANDBOX_BASE_URL: provider.emulator.baseUrl,
    PROVIDER_TOKEN_URL: provider.emulator.tokenUrl,
    PROVIDER_CLIENT_SECRET: clientSecret,
    CACHE_REDIS_URL: redis.url,
    CACHE_SNAPSHOT_FILE: snapshotFile,
  },
  log.onLine,
  (how) => findings.fail('service', 'it ended', how),
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
await waitUntil(
  'a service that is ready',
  async () => (await get(`${publicUrl}/readyz`)).status,
  (status) => status === 200,
);

const soak: Soak = {
  publicUrl,
  managementUrl,
  managementToken,
  provider,
  redis,
  oracle,
  lateness,
  findings,
  randomFor,
};
const sendOdd = createOddRequests(soak);
const clients = createClients(soak);

// Load, at a constant rate whatever the answers take.
const load = createGate(onDefect);
const chance = randomFor(4);
let underWay = 0;
let owed = 0;
let lastTickMs = performance.now();
const dispatch = (): void => {
  const nowMs = performance.now();
  const dueNow = ((nowMs - lastTickMs) / 1_000) * REQUESTS_PER_SECOND;
  // After a stop of this process there is no burst.
  owed = load.isOpen() ? Math.min(REQUESTS_PER_SECOND / 4, owed + dueNow) : 0;
  lastTickMs = nowMs;
  for (; owed >= 1; owed -= 1) {
    if (underWay >= MAX_UNDER_WAY) {
      const now = { sentMs: nowMs, receivedMs: nowMs };
      if (!lateness.isStarved() && !oracle.isFlooded(now))
        findings.fail('soak', `more than ${MAX_UNDER_WAY} requests wait`);
      continue;
    }
    underWay += 1;
    load.track(
      (chance() < ORDINARY_SHARE ? clients.send() : sendOdd()).finally(() => (underWay -= 1)),
    );
  }
};
const dispatching = setInterval(dispatch, 10);
startRudeClients(load, soak);
const faults = createGate(onDefect);
startFaults(faults, soak);

// Probes and scrapes go on through the rests.
const watching = createGate(onDefect);
const probe = async (url: string, path: string): Promise<void> => {
  const kind = `probe ${path}${url === managementUrl ? ', management port' : ''}`;
  const sentMs = performance.now();
  const { status, text } = await get(url + path).catch((error: unknown) => ({
    status: 0,
    text: String(error),
  }));
  const when = { sentMs, receivedMs: performance.now() };
  findings.count(kind, status);
  log.checkText(kind, text);
  const isAllowed =
    status === 200 || (path === '/readyz' && status === 503 && oracle.mayLackList(when));
  if (!isAllowed) findings.fail(kind, `status ${status}`, text);
};
let peakRssMb = 0;
const series: number[] = [];
watching.repeat(async (signal) => {
  for (const url of [publicUrl, managementUrl])
    for (const path of ['/healthz', '/readyz']) await probe(url, path);
  await probe(managementUrl, '/');
  peakRssMb = Math.max(peakRssMb, service.rssMb());
  const { text } = await get(`${managementUrl}/metrics`);
  log.checkText('scrape', text);
  series.push(text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length);
  await pause(3_000, signal);
});

/**
 * Stops the faults once they are over, then the load, and measures when the connections are closed.
 */
const rest = async (quarter: number): Promise<Rest> => {
  await faults.close();
  await load.close();
  await clients.close();
  let fds = service.openFiles();
  for (let still = 0, tries = 0; still < 6 && tries < 60; tries += 1) {
    await pause(500);
    const now = service.openFiles();
    still = now === fds ? still + 1 : 0;
    fds = now;
  }
  // A load that is under way holds the room for a body, PROVIDER_MAX_BODY: the least counts.
  let heldMb = Infinity;
  for (let looks = 0; looks < 4; looks += 1) {
    heldMb = Math.min(heldMb, await service.heldMb());
    await pause(300);
  }
  return { quarter, heldMb, rssMb: service.rssMb(), fds };
};

const rests: Rest[] = [];
const startedAtMs = performance.now();
for (let quarter = 1; quarter <= 4 && !service.hasEnded(); quarter += 1) {
  const endMs = startedAtMs + quarter * quarterMs;
  await pause(Math.max(0, endMs - 0.55 * quarterMs - performance.now()));
  if (quarter % 2 === 0 || quarterMs > 60_000) {
    const flood = floodOverCapacity(soak);
    load.track(flood);
    await flood;
  }
  while (performance.now() < endMs && !service.hasEnded()) await pause(100);
  if (service.hasEnded()) break;
  const figures = await rest(quarter);
  rests.push(figures);
  print(`after quarter ${quarter}: ${JSON.stringify(figures)}, ${findings.total()} violations`);
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
if (exitStatus !== 0) findings.fail('service', `exit status ${String(exitStatus)} after SIGTERM`);
log.checkText('snapshot', readFileSync(snapshotFile, 'utf8'));
await Promise.all([redis.kill(), provider.emulator.close()]);
rmSync(directory, { recursive: true });

const notFlat = findGrowth(rests, peakRssMb, series);
const report = {
  node: process.version,
  seed,
  minutes,
  requestsPerSecond: REQUESTS_PER_SECOND,
  answers: clients.answered(),
  latencyMs: summariseLatencies(clients.latenciesMs),
  notAllowed: findings.total(),
  notFlat,
  peakRssMb,
  rests,
  counts: findings.counts,
};
print(JSON.stringify(report, null, 2));
// A connection of the last turn may still be open.
process.exit(findings.total() > 0 || notFlat.length > 0 ? 1 : 0);
