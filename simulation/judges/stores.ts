import type { StoreEvent } from '../../src/sharing/list-store.ts';
import type { Delivery } from '../provider.ts';
import type { Life } from '../replica.ts';
import { RECONNECT_MS, SECOND, TOLERANCE_MS, type Court, type SharedList } from './facts.ts';
import type { GuardJudge } from './guard.ts';

// Judges the stores: that what one replica loads reaches Redis, the others and the snapshots soon, and that what is said of
// the stores is true.

/** Encoding, writing, telling and reading, where nothing is slow. */
const SHARE_MS = 3 * SECOND;

interface Renewal {
  readonly life: Life;
  readonly delivery: Delivery;
  readonly acceptedAtMs: number;
  readonly atMs: number;
}

export const createStoreJudge = (court: Court, { mayRefuse }: GuardJudge) => {
  const { setup, nowMs: now, news, expect, redis } = court;
  const expectTold = court.expectOf('the stores are what is told');
  const expectShared = court.expectOf('what one loads the others have');
  /** The newest that is to reach everybody. */
  let newest: Renewal | undefined;
  const written = new WeakMap<Buffer, number>();

  news.on('list written', (bytes, writer) => {
    const [, receivedAtMs, acceptedAtMs = 0, text = ''] =
      /"receivedAtMs":(\d+),.*?(?:"acceptedAtMs":(\d+),)?"banks":(.*)\}\n(?:\{.*\}\n)?$/.exec(
        bytes.toString(),
      ) ?? [];
    const origin = court.origins.find(Number(receivedAtMs), text);
    if (writer) writer.facts.saved = origin;
    court.sharedList = writer &&
      origin && { bytes, writer, origin, acceptedAtMs: Number(acceptedAtMs), writtenAtMs: now() };
  });

  const onStore = ({ facts }: Life, event: StoreEvent): void => {
    const { store, type } = event;
    if (type === 'store-failed' && event.reason.includes('refused')) {
      facts.refusedAtMs = now();
      // Another store's list was taken while this one was encoded.
      if (store === 'CACHE_SNAPSHOT_FILE') facts.diskFailed = true;
    }
    const isOfWrite = /publish|the disk has written/.test(court.world.happening());
    if (type === 'store-failed') facts.recoveries = 0;
    if (type === 'store-recovered' && !isOfWrite) facts.recoveries += 1;
    // The connection, and reading.
    expectTold(facts.recoveries <= 2, () => `${store} recovers though it has not failed`);
    facts.last.set(store, type);
  };
  news.on('store-failed', onStore).on('store-recovered', onStore).on('store-empty', onStore);

  news.on('list-renewed', (life) => {
    const { delivery, held } = life.facts;
    newest =
      delivery && life.state === 'running' && canShare(life, 0)
        ? { life, delivery, acceptedAtMs: held?.acceptedAtMs ?? 0, atMs: now() }
        : undefined;
  });

  /** Whether nothing has been in the way since `sinceMs`. */
  const canShare = (life: Life, sinceMs: number): boolean => {
    const neededMs = RECONNECT_MS + (sinceMs === 0 ? 0 : now() - sinceMs);
    const runMs = now() - life.stateSinceMs;
    const spanMs = RECONNECT_MS + Math.min(now() - sinceMs, runMs);
    return (
      setup.hasRedis &&
      court.areTimesTrue() &&
      life.state === 'running' &&
      Math.min(redis.calmForMs(), runMs) > neededMs &&
      life.lateMs(now() - spanMs) === 0
    );
  };

  const judgeSharing = (life: Life): void => {
    if (!newest) return;
    if (newest.life.state !== 'running' || redis.calmForMs() < now() - newest.atMs + RECONNECT_MS) {
      newest = undefined;
      return;
    }
    const { delivery, acceptedAtMs, atMs } = newest;
    if (now() - atMs <= SHARE_MS || !newest.life.core.list.served() || !canShare(life, atMs)) return;
    const isAsNew = (origin: Delivery | undefined, accepted: number): boolean =>
      accepted > acceptedAtMs ||
      (accepted === acceptedAtMs && (origin?.deliveredAtMs ?? -1) >= delivery.deliveredAtMs - TOLERANCE_MS);
    const { sharedList } = court;
    expectShared(
      sharedList !== undefined && isAsNew(sharedList.origin, sharedList.acceptedAtMs),
      () => `not Redis after ${now() - atMs} ms`,
    );
    const { held, origin, refusedAtMs } = life.facts;
    const isKept = isAsNew(origin, held?.acceptedAtMs ?? 0) || refusedAtMs >= atMs;
    expectShared(
      isKept || mayRefuse(delivery.version.published),
      () => `not ${life.name} after ${now() - atMs} ms`,
    );
  };

  /** The snapshot has the list that is served, if the disk has worked since. */
  const judgeSnapshot = (life: Life): void => {
    const { facts } = life;
    const { disk } = life.replica;
    facts.slowestMs = Math.max(facts.slowestMs, disk.slowMs);
    // What ends at this moment has been there until now.
    if (disk.fails || facts.diskTroubledAtMs === Infinity) facts.diskTroubledAtMs = now();
    if (disk.fails) facts.diskTroubledAtMs = Infinity;
    const { held, heldAtMs } = facts;
    const sinceMs = Math.max(heldAtMs, life.stateSinceMs);
    if (!setup.hasSnapshot || !held || life.state !== 'running') return;
    if (now() - sinceMs <= SHARE_MS + 4 * facts.slowestMs) return;
    if (facts.diskTroubledAtMs > heldAtMs - 4 * facts.slowestMs - 20 * SECOND || !life.core.list.served())
      return;
    if (!court.areTimesTrue() || life.lateMs(heldAtMs) > 0 || life.writes > 0) return;
    const { content } = disk;
    let receivedAtMs = content && written.get(content);
    if (content && receivedAtMs === undefined) {
      receivedAtMs = Number(/"receivedAtMs":(\d+)/.exec(content.toString('latin1'))?.[1] ?? 0);
      written.set(content, receivedAtMs);
    }
    expect(
      // Lists of nearly the same moment count as one.
      (receivedAtMs ?? 0) >= held.receivedAtMs - 2 * TOLERANCE_MS,
      'what is served is saved',
      () => `the snapshot has a list that is ${held.receivedAtMs - (receivedAtMs ?? 0)} ms older`,
    );
  };

  /** Whether its writer was killed before it can have told the others. */
  const diedSilent = ({ writer, writtenAtMs }: SharedList): boolean =>
    !writer.isAlive && writer.stateSinceMs - writtenAtMs < SHARE_MS;

  const judgeConnection = (life: Life): void => {
    const { facts } = life;
    const isConnected = redis.isConnected(life);
    const wasConnectedSinceMs = facts.connectedSinceMs;
    if (isConnected) {
      facts.disconnectedSinceMs = undefined;
      facts.cutAtMs = undefined;
      facts.connectedSinceMs ??= now();
    } else {
      facts.disconnectedSinceMs ??= now();
      facts.connectedSinceMs = undefined;
      // After a ping nothing is left of the outages before.
      if (now() - (wasConnectedSinceMs ?? now()) > RECONNECT_MS && redis.connectionsOf(life) === 0)
        facts.cutAtMs = now();
    }
    if (!setup.hasRedis || life.state !== 'running' || life.lateMs(now() - RECONNECT_MS) > 0) return;
    const last = facts.last.get('CACHE_REDIS_URL');
    const cutMs = now() - (facts.cutAtMs ?? now());
    expectTold(
      cutMs < SECOND || redis.calmForMs() < cutMs,
      () => `no new connection ${cutMs} ms after the first was cut`,
    );
    const runMs = now() - life.stateSinceMs;
    const offlineMs = now() - Math.max(facts.disconnectedSinceMs ?? now(), life.stateSinceMs);
    if (Math.min(redis.calmForMs(), runMs) > RECONNECT_MS) {
      expectTold(isConnected, 'Redis works, and no connection is made');
      // What cannot be read or is refused stays until somebody writes.
      const isReadable =
        court.sharedList !== undefined &&
        court.sharedList.writtenAtMs < now() - SHARE_MS &&
        !diedSilent(court.sharedList) &&
        // Otherwise its writer may have given it up by then, and told nobody.
        redis.calmForMs() > now() - court.sharedList.writtenAtMs + RECONNECT_MS &&
        redis.list()?.bytes.equals(court.sharedList.bytes) === true;
      expectTold(
        last !== 'store-failed' ||
          !isReadable ||
          facts.refusedAtMs > (court.sharedList?.writtenAtMs ?? 0) - SHARE_MS,
        'Redis works, and is said to fail',
      );
    }
    // Longer than it takes to find out that nothing answers any more.
    expectTold(
      offlineMs < RECONNECT_MS || last === 'store-failed',
      () => `no connection to Redis for ${offlineMs} ms, and it is said to work`,
    );
  };

  const judgeDisk = (life: Life): void => {
    const { facts } = life;
    if (life.state !== 'running' || !setup.hasSnapshot) return;
    expectTold(
      facts.diskFailed === (facts.last.get('CACHE_SNAPSHOT_FILE') === 'store-failed'),
      () => `the disk ${facts.diskFailed ? 'fails' : 'works'}`,
    );
  };

  news.on('disk done', ({ facts }, result) => {
    // A slow read may end after a write has failed, and shows nothing about the next one.
    if (result !== 'read') facts.diskFailed = result === 'failed';
  });

  return {
    inspect: judgeDisk,
    judgeTimes: (life: Life) => {
      judgeSharing(life);
      judgeSnapshot(life);
      judgeConnection(life);
    },
  };
};
