import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { systemClock } from '../clock.ts';
import { secretRulesFor, type Config } from '../config/config.ts';
import { connectionFaultOf } from '../provider/errors.ts';
import { withDeadline } from '../deadline.ts';
import { codeOf } from '../error-code.ts';
import { targetOf } from '../regular-file.ts';
import type { Redaction } from '../secrets/redaction.ts';
import { createSecrets, type SecretSource } from '../secrets/secrets.ts';
import { loadRedisClient } from '../sharing/redis-client.ts';
import { CONNECT_MS, OPERATION_MS, replyCodeOf } from '../sharing/redis-connection.ts';
import { temporaryBeside } from '../sharing/replace-file.ts';
import { tryPorts } from './ports.ts';
import { findAddressFault } from './redis-trials.ts';
import { inWholeMs, type Step } from './report.ts';
import { REDIS_SYMPTOMS, SNAPSHOT_SYMPTOMS, type RedisSymptom } from './surroundings-symptoms.ts';
import { findSymptom, toAdvice, type Symptoms } from './symptoms.ts';

// Tries what the service uses besides the provider: each configured store, and both ports. Nothing
// is left behind, and a service that runs meanwhile is not disturbed.

/** A step for each thing that is configured. Never rejects: a failure is a step's result. */
export const trySurroundings = async (
  config: Config,
  { addSecret }: Redaction,
): Promise<readonly Step[]> => {
  const { snapshotFile, redisUrl } = config.cache;
  const steps: Step[] = [];
  if (snapshotFile !== undefined) steps.push(await trySnapshot(snapshotFile));
  if (redisUrl) steps.push(await tryRedis(redisUrl, addSecret));
  return [...steps, ...(await tryPorts(config))];
};

/** `symptom`: why it failed, a code or a name of the table's own. */
const failed = <Words>(message: string, symptom: string, rows: Symptoms<Words>, words: Words) => {
  const row = findSymptom(rows, symptom);
  return { ...(row && toAdvice(row, words)), result: 'FAIL', message } as const;
};

/** Does everything with Redis that the service does. What is written expires. */
const tryRedis = async (source: SecretSource, addSecret: Redaction['addSecret']): Promise<Step> => {
  const startedAtMs = performance.now();
  const secrets = createSecrets({
    sources: { CACHE_REDIS_URL: source },
    tlsFiles: {},
    rules: secretRulesFor(undefined),
    addSecret,
    clock: systemClock,
    onEvent: () => undefined,
  });
  const url = await secrets.read('CACHE_REDIS_URL').catch(() => undefined);
  if (url === undefined)
    return {
      name: 'redis',
      ...failed('CACHE_REDIS_URL_FILE cannot be used (no address)', 'no address', REDIS_SYMPTOMS, {
        host: '',
      }),
    };
  const { host } = new URL(url);
  const createClient = await loadRedisClient();
  // The limit below ends first, and its error has a code. The operations report the errors of the
  // connection.
  const connectTimeoutMs = 2 * CONNECT_MS;
  const redis = createClient({ url, connectTimeoutMs, onError: () => undefined });
  const key = `banks-bff:doctor:${randomUUID()}`;
  const hearOwnMessage = (): Promise<string> =>
    new Promise((resolve, reject) => {
      const subscribed = redis.subscribe(key, resolve);
      subscribed.then(() => redis.publish(key, 'heard')).catch(reject);
    });
  const within = (limitMs: number, work: () => Promise<unknown>): Promise<unknown> =>
    withDeadline(work, { limitMs, clock: systemClock, timeoutError: noReply });
  let tried = CONNECTING;
  try {
    await within(CONNECT_MS, () => redis.connect());
    tried = 'reading';
    await within(OPERATION_MS, () => redis.read([key], 1));
    tried = 'writing';
    const entry = { key, value: Buffer.from('written') };
    await within(OPERATION_MS, () => redis.compareAndSet(undefined, [entry], LIFE_MS));
    tried = 'sending a message';
    await within(OPERATION_MS, hearOwnMessage);
  } catch (error) {
    const code = codeOf(error) || replyCodeOf(error) || 'no code';
    // By its type, the table has a row for each.
    const fault: RedisSymptom | undefined =
      (tried === CONNECTING && (await findAddressFault(new URL(url), error, createClient))) ||
      connectionFaultOf(code);
    const message = `${tried} fails (${code})`;
    return { name: 'redis', ...failed(message, fault ?? code, REDIS_SYMPTOMS, { host }) };
  } finally {
    redis.destroy();
  }
  const message = `connected to ${host} and logged in; read, wrote and heard a message, in all after`;
  return {
    name: 'redis',
    result: 'ok',
    message: `${message} ${inWholeMs(performance.now() - startedAtMs)}`,
  };
};

const CONNECTING = 'connecting and logging in';
const LIFE_MS = 5_000;
const noReply = (): Error => Object.assign(new Error('no reply in time'), { code: 'TIMEOUT' });

/** What it has was looked at with the configuration. */
const trySnapshot = async (path: string): Promise<Step> => {
  const target = await targetOf(path);
  const probe = temporaryBeside(target);
  const directory = 'the directory of CACHE_SNAPSHOT_FILE';
  try {
    await writeFile(probe, 'written', { flag: 'wx', mode: 0o600 });
    return { name: 'snapshot', result: 'ok', message: `${directory} can be written` };
  } catch (error) {
    const words = { directory: dirname(target) };
    const code = codeOf(error) || 'no code';
    return {
      name: 'snapshot',
      ...failed(`${directory} cannot be written (${code})`, code, SNAPSHOT_SYMPTOMS, words),
    };
  } finally {
    await rm(probe, { force: true }).catch(() => undefined);
  }
};
