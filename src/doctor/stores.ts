import { link, rm } from 'node:fs/promises';
import type { SavedList } from '../banks/fleet.ts';
import { systemClock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { codeOf } from '../errors.ts';
import { variableOf } from '../secrets/secret.ts';
import { createRedisFleet } from '../sharing/redis-fleet.ts';
import { createSnapshotFile, replaceFile, writeFailure } from '../sharing/snapshot-file.ts';
import { createStoreReport, describeStoreFailure } from '../sharing/store-report.ts';
import type { TriedLoad } from './load.ts';
import { elapsedSince, type Step } from './report.ts';

// Tries each configured store once: reads the list that is there, and writes. What is there stays,
// and a service that runs meanwhile is not disturbed.

interface TriedStore {
  readonly step: Step;
  /** The list that is there, whatever its age. */
  readonly saved?: SavedList | undefined;
}

/** Looks at Redis once, and puts the hold that is there into its place once more. */
export const tryRedis = async (
  config: Config,
  { secrets, envelope }: TriedLoad['parts'],
): Promise<TriedStore> => {
  const startedAtMs = performance.now();
  const variable = variableOf('CACHE_REDIS_URL', config.secrets);
  const report = createStoreReport(variable, systemClock);
  const fleet = createRedisFleet({
    envelope,
    policy: config.cache,
    clock: systemClock,
    ioClock: systemClock,
    readUrl: () => secrets.read('CACHE_REDIS_URL'),
    report,
  });
  const { up, list: saved, hold, holdLeftMs } = await fleet.look('');
  const isWritten = up && (await fleet.replaceHold(hold, hold, holdLeftMs)) !== 'no_redis';
  fleet.close();
  const problem = report.state().failing?.reason;
  const step: Step = isWritten
    ? toStep('redis', `read and written in ${elapsedSince(startedAtMs)}`, problem)
    : {
        name: 'redis',
        result: 'FAIL',
        message: `Redis ${problem}`,
        next: [
          'Check host, port, user and password, and the scheme: rediss: with TLS, redis: without. An authority of its own is named by NODE_EXTRA_CA_CERTS.',
        ],
        variables: [variable],
      };
  return { step, saved };
};

/** Of a store that works; `problem` is why the list in it cannot be used. */
const toStep = (name: string, message: string, problem: string | undefined): Step =>
  problem === undefined
    ? { name, result: 'ok', message }
    : { name, result: 'note', message: `${message}; ${problem}` };

/**
 * Reads the file, and writes one as long as the new list beside it: the file itself may be in use,
 * by a service that runs as another user.
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
