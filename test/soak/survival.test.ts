import { afterEach, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { isBehaviour, isTokenBehaviour, listBehaviours, tokenBehaviours } from '../../emulator/behaviours.ts';
import { heldMbIn, TELLS_HELD_MEMORY } from '../kit/held-memory.ts';
import { p99 } from '../kit/p99.ts';
import {
  startEmulatorProcess,
  startProcess,
  type EmulatorProcess,
  type ServiceProcess,
} from '../kit/process.ts';
import { createRandom, mutate } from '../kit/random.ts';
import { sendRaw } from '../kit/raw-http.ts';
import { ANSWERED, PIECES_OF_REQUESTS, REFUSED } from '../kit/raw-requests.ts';
import { eventually } from '../kit/rig.ts';

// The built process with a heap of 96 MB, against everything that the provider and clients can do at once: more renewals than
// in an hour, every behaviour of the emulator, and hostile requests to both ports.

/** Retries are at least a second apart, so an hour has no more loads than this. */
const LOADS = 3_600;
const HEAP_MB = 96;
/** The container's limit in deploy/kubernetes. */
const MAX_RSS_MB = 256;
const TOKEN = 'operator-token-0123456789';

let service: ServiceProcess | undefined;
let emulator: EmulatorProcess | undefined;
const stopping = new AbortController();
afterEach(() => {
  stopping.abort();
  service?.child.kill('SIGKILL');
  emulator?.end();
});

const start = async (): Promise<{ running: ServiceProcess; provider: EmulatorProcess }> => {
  const provider = await startEmulatorProcess();
  emulator = provider;
  const env = {
    NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}`,
    PROVIDER_ENVIRONMENT: 'sandbox',
    PROVIDER_SANDBOX_BASE_URL: provider.baseUrl,
    PROVIDER_TOKEN_URL: provider.tokenUrl,
    PROVIDER_CLIENT_ID: 'emulator-client',
    PROVIDER_CLIENT_SECRET: 'emulator-secret',
    PROVIDER_TIMEOUT: '500ms',
    BANK_FIELDS: 'code,ispb,name',
    // Every usable list replaces the previous one, so that renewals do all their work.
    GUARD_MAX_SHRINK: '100%',
    GUARD_MAX_DRIFT: '100%',
    CACHE_TTL: '10ms',
    CACHE_SNAPSHOT_FILE: join(mkdtempSync(join(tmpdir(), 'banks-bff-')), 'snapshot'),
    MANAGEMENT_TOKEN: TOKEN,
  };
  const running = await startProcess(env, TELLS_HELD_MEMORY);
  service = running;
  return { running, provider };
};

/** The process's memory in megabytes. */
const heldMb = async (running: ServiceProcess): Promise<number> => {
  const figures = (): number[] => heldMbIn(running.written());
  const before = figures().length;
  running.child.kill('SIGUSR2');
  await eventually(() => figures().length > before);
  return figures().at(-1) ?? 0;
};

const sampleOf = (exposition: string, name: string): number =>
  [...exposition.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? ([\\d.e+]+)$`, 'gm'))].reduce(
    (sum, [, value]) => sum + Number(value),
    0,
  );

/** Requests /healthz every 50 ms. Rejects as soon as the response is not 200 within 5 s. */
const watchHealth = (url: string, signal: AbortSignal) => {
  const durationsMs: number[] = [];
  const probe = async (): Promise<void> => {
    while (!signal.aborted) {
      const startedAtMs = performance.now();
      const { status } = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(5_000) });
      if (status !== 200) throw new Error(`/healthz answered ${status}`);
      durationsMs.push(performance.now() - startedAtMs);
      await setTimeout(50);
    }
  };
  return { durationsMs, done: probe() };
};

/** Clients that send each hostile request, unchanged and mutated, until stopped. */
const attack = (urls: readonly string[], seed: number, signal: AbortSignal) => {
  const random = createRandom(seed);
  const pick = <T>(items: readonly T[]): T | undefined => items[Math.floor(random() * items.length)];
  const shapes = [...REFUSED, ...ANSWERED].map(([, bytes]) => bytes);
  const seen = { requests: 0, statuses: new Map<number, number>() };

  const sendShape = async (url: string): Promise<void> => {
    let bytes = shapes[seen.requests % shapes.length] ?? '';
    if (random() < 0.5 && bytes.length < 2_000)
      for (let times = 1 + random() * 3; times > 0; times -= 1)
        bytes = mutate(bytes, random, PIECES_OF_REQUESTS);
    const methods = bytes.includes('HEAD') ? ['HEAD'] : [];
    for (const { status } of await sendRaw(url, Buffer.from(bytes, 'latin1'), { methods }))
      seen.statuses.set(status, (seen.statuses.get(status) ?? 0) + 1);
  };
  /** Disconnects in the middle of a head, or before reading any of 20 responses. */
  const leaveEarly = async (url: string): Promise<void> => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined);
    const whole = `GET /banks HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(20);
    socket.write(random() < 0.5 ? whole : whole.slice(0, Math.floor(random() * 30)));
    await setTimeout(random() * 50);
    socket.resetAndDestroy();
  };
  const guessToken = async (url: string): Promise<void> => {
    const headers = { authorization: `Bearer ${random()}` };
    const { status } = await fetch(`${url}/refresh`, { method: 'POST', headers });
    seen.statuses.set(status, (seen.statuses.get(status) ?? 0) + 1);
  };
  const client = async (): Promise<void> => {
    while (!signal.aborted) {
      const url = pick(urls) ?? '';
      const choice = random();
      seen.requests += 1;
      if (choice < 0.8) await sendShape(url);
      else if (choice < 0.95) await leaveEarly(url);
      else await guessToken(url);
    }
  };
  return { seen, done: Promise.all(Array.from({ length: 4 }, client)) };
};

test(`with a heap of ${HEAP_MB} MB nothing from outside ends it, fills its memory or stops it from answering`, async () => {
  const { running, provider } = await start();
  const [publicUrl = '', managementUrl = ''] = running.urls();
  const scrape = async (): Promise<string> => (await fetch(`${managementUrl}/metrics`)).text();
  const loads = async (): Promise<number> => sampleOf(await scrape(), 'banks_refreshes_total');
  const rssMb = async (): Promise<number> =>
    sampleOf(await scrape(), 'process_resident_memory_bytes') / 2 ** 20;
  let highestMb = 0;

  const seed = Math.floor(Math.random() * 2 ** 31);
  const health = watchHealth(publicUrl, stopping.signal);
  const attackers = attack([publicUrl, managementUrl], seed, stopping.signal);

  /** Waits for some loads with the provider's current behaviour. */
  const someLoads = async (): Promise<void> => {
    const before = await loads();
    const quickUntilMs = performance.now() + 300;
    const isEnough = (count: number): boolean =>
      count >= 60 || (count >= 2 && performance.now() > quickUntilMs);
    while (!isEnough((await loads()) - before)) await setTimeout(20);
    highestMb = Math.max(highestMb, await rssMb());
  };
  /** Everything that the provider can do, once. */
  const sweep = async (): Promise<void> => {
    for (const name of Object.keys(listBehaviours).filter(isBehaviour)) {
      await provider.behave(name);
      await someLoads();
    }
    // A rejected token is renewed, so the token endpoint is called as well.
    await provider.behave('unauthorized');
    for (const name of Object.keys(tokenBehaviours).filter(isTokenBehaviour)) {
      await provider.behaveToken(name);
      await someLoads();
    }
    await provider.behaveToken('healthy');
    await provider.behave('healthy');
    await someLoads();
  };
  const run = async (): Promise<{ firstMb: number; lastMb: number }> => {
    await sweep();
    const firstMb = await heldMb(running);
    await sweep();
    for (let turn = 0; (await loads()) < LOADS; turn += 1) {
      await provider.behave(turn % 2 === 0 ? 'few' : 'healthy');
      await someLoads();
    }
    return { firstMb, lastMb: await heldMb(running) };
  };
  /** Reports how the process ended, if it did: otherwise only a failed connection would be reported. */
  const explain = async (cause: unknown): Promise<never> => {
    await Promise.race([once(running.child, 'exit'), setTimeout(2_000)]);
    const { exitCode, signalCode } = running.child;
    if (exitCode === null && signalCode === null) throw cause;
    const lastWords = running.written().slice(-2_000);
    throw new Error(`the process ended with ${exitCode ?? signalCode}: ${lastWords}`, { cause });
  };
  const startedAtMs = performance.now();
  const never = new Promise<never>(() => undefined);
  const { firstMb, lastMb } = await Promise.race([
    run(),
    health.done.then(() => never),
    attackers.done.then(() => never),
  ]).catch(explain);
  stopping.abort();
  await Promise.all([health.done, attackers.done]);
  const written = running.written();
  const probesMs = health.durationsMs;
  const p99Ms = p99(probesMs);
  process.stdout.write(
    `seed ${seed}, ${Math.round((performance.now() - startedAtMs) / 1_000)} s: ${await loads()} loads, ` +
      `${attackers.seen.requests} hostile requests, answers ${JSON.stringify(Object.fromEntries(attackers.seen.statuses))}, ` +
      `${probesMs.length} probes, p99 ${p99Ms.toFixed(0)} ms, slowest ${Math.max(...probesMs).toFixed(0)} ms, ` +
      `holds ${firstMb.toFixed(1)}, then ${lastMb.toFixed(1)} MB; at most ${highestMb.toFixed(0)} MB resident\n`,
  );
  expect(highestMb).toBeLessThan(MAX_RSS_MB);
  expect(lastMb).toBeLessThan(firstMb + 5);
  expect(Math.max(...attackers.seen.statuses.keys())).toBeLessThan(500);
  // Not the slowest: other programs may delay the process once.
  expect(p99Ms).toBeLessThan(1_000);
  expect(/"status":500|"level":60|"kind":"internal"|Warning: /.exec(written)).toBeNull();
  expect((await fetch(`${publicUrl}/banks`)).status).toBe(200);
  expect(await running.end('SIGINT')).toBe(0);
});
