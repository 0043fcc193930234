import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { realpath, rm, writeFile } from 'node:fs/promises';
import { createServer, isIPv6, type Server } from 'node:net';
import { dirname } from 'node:path';
import type * as RedisLibrary from 'redis';
import { isJsonObject } from '../banks/reading/entry.ts';
import { systemClock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { passwordsIn, toRedisUrl } from '../config/values.ts';
import { withDeadline } from '../deadline.ts';
import { codeOf } from '../error-code.ts';
import { describeReadError, readRegularFile } from '../regular-file.ts';
import type { Redaction } from '../secrets/redaction.ts';
import { createSecretFile } from '../secrets/secret-file.ts';
import type { Step } from './diagnosis.ts';
import { OBSTACLES, type SurroundingStep } from './obstacles.ts';
import { fillIn, findRow } from './symptoms.ts';
import { ms } from './units.ts';

// Tries what the service uses besides the provider: each configured store, and both ports. Nothing is left behind, and a
// service that runs meanwhile is not disturbed.

/** A step for each thing that is configured. Never rejects: a failure is a step's verdict. */
export const trySurroundings = async (
  { cache, provider, listen, management }: Config,
  { addSecret }: Redaction,
): Promise<readonly Step[]> => {
  const steps: Step[] = [];
  if (cache.snapshotFile !== undefined)
    steps.push(await trySnapshot(cache.snapshotFile, provider.maxBodyBytes));
  if (cache.redisUrl) steps.push(await tryRedis(cache.redisUrl, addSecret));
  const ports: Port[] = [{ name: 'port', ...listen }];
  if (management.listen) ports.push({ name: 'management', ...management.listen });
  return [...steps, ...(await tryPorts(ports))];
};

/** `message` says what was tried; `symptom` why it failed: a code, or a name of the table's own. */
const failed = (
  name: SurroundingStep,
  message: string,
  symptom: string,
  words: Parameters<typeof fillIn>[1],
): Step => {
  const row = findRow(OBSTACLES, symptom, name) ?? findRow(OBSTACLES, 'anything else', name);
  return {
    name,
    verdict: 'FAIL',
    message: `${message} (${symptom})`,
    likely: fillIn(row?.likely ?? '', words),
    next: fillIn(row?.next ?? '', words),
  };
};

const tryRedis = async (
  source: NonNullable<Config['cache']['redisUrl']>,
  addSecret: Redaction['addSecret'],
): Promise<Step> => {
  const startedAtMs = performance.now();
  const url = await readRedisUrl(source, addSecret).catch(() => undefined);
  if (url === undefined) return failed('redis', 'CACHE_REDIS_URL_FILE cannot be used', 'no address', {});
  const { host } = new URL(url);
  // Loading it takes 150 to 250 ms.
  const redis = createRedis(await import('redis'), url);
  // Without a listener an error would end the process; the operations fail with it anyway.
  redis.on('error', () => undefined);
  try {
    const key = `banks-bff:doctor:${randomUUID()}`;
    for (const { name, limitMs, run } of REDIS_OPERATIONS) {
      const options = { limitMs, clock: systemClock, timeoutError: () => new Error('TIMEOUT') };
      // oxlint-disable-next-line no-await-in-loop -- each needs the one before
      const error: unknown = await withDeadline(() => run(redis, key), options).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      if (error !== undefined)
        return failed('redis', `${name} fails`, symptomOf(error), { host: () => host });
    }
  } finally {
    if (redis.isOpen) redis.destroy();
  }
  const message = `connected to ${host} and logged in; wrote, took a lease and heard a message, in all after`;
  return { name: 'redis', verdict: 'ok', message: `${message} ${ms(performance.now() - startedAtMs)}` };
};

/** As long as the service allows a connection and an operation. */
const CONNECT_LIMIT_MS = 2_000;
const OPERATION_LIMIT_MS = 500;

const createRedis = ({ createClient }: typeof RedisLibrary, url: string) =>
  createClient({
    url,
    name: 'banks-bff-doctor',
    disableOfflineQueue: true,
    socket: { reconnectStrategy: false, connectTimeout: CONNECT_LIMIT_MS },
  });

type TrialClient = ReturnType<typeof createRedis>;

interface RedisOperation {
  readonly name: string;
  readonly limitMs: number;
  readonly run: (redis: TrialClient, key: string) => Promise<unknown>;
}

/** Everything that the service does with Redis. What is written expires by itself. */
const REDIS_OPERATIONS: readonly RedisOperation[] = [
  {
    name: 'connecting and logging in',
    limitMs: CONNECT_LIMIT_MS,
    run: (redis) => redis.connect(),
  },
  {
    name: 'writing',
    limitMs: OPERATION_LIMIT_MS,
    run: (redis, key) => redis.set(key, 'written', { expiration: EXPIRATION }),
  },
  {
    name: 'taking a lease',
    limitMs: OPERATION_LIMIT_MS,
    run: async (redis, key) => {
      const lease = `${key}:lease`;
      await redis.set(lease, 'taken', { condition: 'NX', expiration: EXPIRATION });
      await redis.eval(`return redis.call('del', KEYS[1])`, { keys: [lease], arguments: [] });
    },
  },
  {
    name: 'sending a message',
    limitMs: OPERATION_LIMIT_MS,
    run: (redis, channel) =>
      new Promise<void>((resolve, reject) => {
        const publish = () => redis.publish(channel, 'heard');
        redis
          .subscribe(channel, () => resolve())
          .then(publish)
          .catch(reject);
      }),
  },
];

const EXPIRATION = { type: 'PX', value: 5_000 } as const;

/** @throws an error whose message names the variable, never its value */
const readRedisUrl = async (
  source: NonNullable<Config['cache']['redisUrl']>,
  addSecret: Redaction['addSecret'],
): Promise<string> => {
  if ('reveal' in source) return source.reveal();
  const rule = { bearer: false, minChars: 1 };
  const variable = 'CACHE_REDIS_URL_FILE';
  // Only its password is a secret.
  const options = { variable, path: source.path, rule, addSecret: () => undefined };
  const url = toRedisUrl(await createSecretFile(options)()).reveal();
  for (const password of passwordsIn(url)) addSecret(variable, password);
  return url;
};

/** The code of Node, OpenSSL or Redis, which starts an error reply with one in capitals. Never an error's own text. */
const symptomOf = (error: unknown): string =>
  codeOf(error) || (error instanceof Error && /^[A-Z]{2,20}\b/.exec(error.message)?.[0]) || 'no code';

/** More than the header of a snapshot, which names its format. */
const HEADER_BYTES = 1_024;
const SNAPSHOT_FORMAT = '"format":"banks-bff/list"';

const trySnapshot = async (path: string, maxBodyBytes: number): Promise<Step> => {
  const target = await realpath(path).catch(() => path);
  const words = { directory: () => dirname(target) };
  // With an ending by which the service recognises what a killed process left behind.
  const probe = `${target}.${process.pid}-${randomBytes(6).toString('hex')}.tmp`;
  let tried = 'CACHE_SNAPSHOT_FILE cannot be used';
  try {
    const content = await readRegularFile(target, maxBodyBytes + 2 * HEADER_BYTES).catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return Buffer.alloc(0);
      throw error;
    });
    const isOurs = content.length === 0 || content.subarray(0, HEADER_BYTES).includes(SNAPSHOT_FORMAT);
    if (!isOurs) return failed('snapshot', tried, 'not a saved list', words);
    tried = 'the directory of CACHE_SNAPSHOT_FILE cannot be written';
    await writeFile(probe, 'written', { flag: 'wx', mode: 0o600 });
    const held = content.length === 0 ? 'no list yet' : 'a saved list';
    return {
      name: 'snapshot',
      verdict: 'ok',
      message: `CACHE_SNAPSHOT_FILE has ${held}, and its directory can be written`,
    };
  } catch (error) {
    const reason = describeReadError(error);
    return failed('snapshot', tried, reason.startsWith('more than') ? 'not a saved list' : reason, words);
  } finally {
    await rm(probe, { force: true }).catch(() => undefined);
  }
};

interface Port {
  readonly name: 'port' | 'management';
  readonly port: number;
  readonly host: string;
}

/** Listens on all of them at once, as the service does, and closes them again. */
const tryPorts = async (ports: readonly Port[]): Promise<readonly Step[]> => {
  const servers: Server[] = [];
  const steps: Step[] = [];
  for (const { name, port, host } of ports) {
    const server = createServer();
    servers.push(server);
    server.listen({ port, host });
    // oxlint-disable-next-line no-await-in-loop -- the second is tried while the first is open
    const error: unknown = await once(server, 'listening').then(
      () => undefined,
      (reason: unknown) => reason,
    );
    const words = { port: () => String(port), host: () => host };
    const where = port === 0 ? `any free port of ${host}` : `${port} of ${host}`;
    if (error === undefined) steps.push({ name, verdict: 'ok', message: `${where} can be used` });
    // oxlint-disable-next-line no-await-in-loop
    else if (codeOf(error) === 'EADDRINUSE' && (await isServiceAt(port, host)))
      steps.push({ name, verdict: 'ok', message: `${where} is used by this service, which is running` });
    else steps.push(failed(name, `cannot listen on ${where}`, codeOf(error) || 'no code', words));
  }
  for (const server of servers) server.close();
  return steps;
};

/** Whether what listens there answers as this service does. */
const isServiceAt = async (port: number, host: string): Promise<boolean> => {
  const address = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  const origin = `http://${isIPv6(address) ? `[${address}]` : address}:${port}`;
  try {
    const answer = await fetch(`${origin}/healthz`, {
      redirect: 'error',
      signal: AbortSignal.timeout(1_000),
    });
    const health: unknown = await answer.json();
    return isJsonObject(health) && 'environment' in health && isJsonObject(health['list']);
  } catch {
    return false;
  }
};
