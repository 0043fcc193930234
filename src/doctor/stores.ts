import { randomUUID } from 'node:crypto';
import { link, rm } from 'node:fs/promises';
import type { SavedList } from '../banks/fleet.ts';
import { systemClock, withDeadline } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { whyNoSnapshot } from '../config/snapshot-path.ts';
import { codeOf } from '../error-code.ts';
import { variableOf } from '../secrets/secret.ts';
import { keysOf, loadRedis, type RedisClient } from '../sharing/redis-client.ts';
import { reasonOf } from '../sharing/redis-errors.ts';
import { REDIS_LIMIT_MS } from '../sharing/redis-fleet.ts';
import { createSnapshotFile, replaceFile, writeFailure } from '../sharing/snapshot-file.ts';
import { createStoreReport, describeStoreFailure, StoreError } from '../sharing/store-report.ts';
import type { TriedLoad } from './load.ts';
import { elapsedSince, type Step } from './report.ts';

// Tries each configured store once: reads the list that is there, and writes something of the same
// size as the new one. What is there stays, and a service that runs meanwhile is not disturbed.

interface TriedStore {
  readonly step: Step;
  /** The list that is there, whatever its age. */
  readonly saved?: SavedList | undefined;
}

/** What the doctor writes into Redis expires after this. */
const LIFE_MS = 1_000;

/** One look at the list, and one write under a key of its own. */
export const tryRedis = async (
  config: Config,
  { secrets, envelope }: TriedLoad['parts'],
  content: Buffer,
): Promise<TriedStore> => {
  const startedAtMs = performance.now();
  let redis: RedisClient | undefined;
  try {
    const connect = await loadRedis();
    const url = await secrets.read('CACHE_REDIS_URL');
    const client = await within((signal) => connect({ url, signal, onError: () => undefined }));
    redis = client;
    const keys = keysOf(await envelope.namespace());
    const { body, timeUs } = await within(() => client.look(keys, ''));
    const own = keysOf(`doctor-${randomUUID()}`);
    const written = { ownId: '', unusable: '', envelope: content, ms: LIFE_MS };
    await within(() => client.publish(own, written));
    let problem: string | undefined;
    const open = () =>
      envelope.open(body, timeUs / 1_000).catch((error: unknown) => {
        problem = describeStoreFailure(error);
        return undefined;
      });
    const saved = body.length === 0 ? undefined : await open();
    return {
      step: toStep('redis', `read and written in ${elapsedSince(startedAtMs)}`, problem),
      saved,
    };
  } catch (error) {
    const step: Step = {
      name: 'redis',
      result: 'FAIL',
      message: `Redis ${reasonOf(error)}`,
      next: [
        'Check host, port, user and password, and the scheme: rediss: with TLS, redis: without. An authority of its own is named by NODE_EXTRA_CA_CERTS.',
      ],
      variables: [variableOf('CACHE_REDIS_URL', config.secrets)],
    };
    return { step };
  } finally {
    redis?.destroy();
  }
};

const within = <T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> =>
  withDeadline(work, {
    limitMs: REDIS_LIMIT_MS,
    clock: systemClock,
    timeoutError: () => new StoreError('does not answer in time'),
  });

/** Of a store that works; `problem` is why the list in it cannot be used. */
const toStep = (name: string, message: string, problem: string | undefined): Step =>
  problem === undefined
    ? { name, result: 'ok', message }
    : { name, result: 'note', message: `${message}; ${problem}` };

/**
 * Reads the file, and writes one beside it: the file itself may be in use, by a service that runs
 * as another user.
 */
export const trySnapshot = async (
  path: string,
  { envelope }: TriedLoad['parts'],
  content: Buffer,
): Promise<TriedStore> => {
  const clock = systemClock;
  const report = createStoreReport('CACHE_SNAPSHOT_FILE', clock);
  const saved = await createSnapshotFile({ path, envelope, clock, report }).read();
  const probe = `${path}.doctor`;
  const clean = () =>
    Promise.allSettled([probe, `${probe}.tmp`].map((left) => rm(left, { force: true })));
  try {
    const problem = await whyNoSnapshot(path);
    if (problem) throw new StoreError(problem);
    // Where a file is mounted by itself, a link to it would lead to another file system.
    await link(path, probe).catch((error: unknown) => {
      if (codeOf(error) === 'EXDEV') throw writeFailure(path, error);
    });
    await clean();
    await replaceFile(probe, content);
    return { step: toStep('snapshot', 'can be written', report.state().failing?.reason), saved };
  } catch (error) {
    const step: Step = {
      name: 'snapshot',
      result: 'FAIL',
      message: `the file ${describeStoreFailure(error)}`,
      variables: ['CACHE_SNAPSHOT_FILE'],
    };
    return { step, saved };
  } finally {
    await clean();
  }
};
