import type { StoreName } from '../../src/sharing/list-store.ts';
import type { ServiceEvent } from '../../src/telemetry/events.ts';
import type { Delivery } from '../provider.ts';
import { lateMs, Life } from '../replica.ts';
import type { Owner } from '../world.ts';
import { perLife, RECONNECT_MS, SECOND, TOLERANCE_MS, type Court, type SharedList } from './facts.ts';

// Judges the stores: that what one replica loads reaches Redis, the others and the snapshots soon, and that what is said of
// the stores is true.

/** Encoding, writing, telling and reading, where nothing is slow. */
const SHARE_MS = 3 * SECOND;

/** Own to this judge, for each life. */
class Shelf {
  readonly last = new Map<StoreName, 'store-failed' | 'store-recovered' | 'store-empty'>();
  /** A list in Redis was refused, which the list of another replica may be. */
  refusedAtMs = -Infinity;
  /** Told since the last failure, but for those of writes. */
  recoveries = 0;
  /** Or had a list that was refused. */
  diskFailed = false;
  /** When the disk was last slow or failing. */
  diskTroubledAtMs = -Infinity;
  /** The longest time that it has taken for one operation. */
  slowestMs = 0;
  disconnectedSinceMs: number | undefined;
  connectedSinceMs: number | undefined;
  /** A connection that had been well was closed then. */
  cutAtMs: number | undefined;
}

interface Renewal {
  readonly life: Life;
  readonly delivery: Delivery;
  readonly acceptedAtMs: number;
  readonly atMs: number;
}

export const createStoreJudge = (court: Court, mayRefuse: (text: string) => boolean) => {
  const { setup, nowMs: now, expect, factsOf } = court;
  const expectTold = court.expectOf('the stores are what is told');
  const expectShared = court.expectOf('what one loads the others have');
  const shelfOf = perLife(() => new Shelf());
  /** The newest that is to reach everybody. */
  let newest: Renewal | undefined;
  const written = new WeakMap<Buffer, number>();

  const onListWritten = (bytes: Buffer, writer: Owner | undefined): void => {
    const [, receivedAtMs, acceptedAtMs = 0, text = ''] =
      /"receivedAtMs":(\d+),.*?(?:"acceptedAtMs":(\d+),)?"banks":(.*)\}\n(?:\{.*\}\n)?$/.exec(
        bytes.toString(),
      ) ?? [];
    const origin = court.origins.find(Number(receivedAtMs), text);
    if (writer) factsOf(writer).saved = origin;
    court.sharedList = writer &&
      origin && { bytes, writer, origin, acceptedAtMs: Number(acceptedAtMs), writtenAtMs: now() };
  };

  const onEvent = (life: Life, event: Extract<ServiceEvent, { store: StoreName }>): void => {
    const { store, type } = event;
    const shelf = shelfOf(life);
    if (type === 'store-failed' && event.reason.includes('refused')) {
      shelf.refusedAtMs = now();
      // Another store's list was taken while this one was encoded.
      if (store === 'CACHE_SNAPSHOT_FILE') shelf.diskFailed = true;
    }
    const isOfWrite = /publish|the disk has written/.test(court.happening());
    if (type === 'store-failed') shelf.recoveries = 0;
    if (type === 'store-recovered' && !isOfWrite) shelf.recoveries += 1;
    // The connection, and reading.
    expectTold(shelf.recoveries <= 2, () => `${store} recovers though it has not failed`);
    shelf.last.set(store, type);
  };

  const onRenewed = (life: Life): void => {
    const { delivery, held } = factsOf(life);
    newest =
      delivery && life.state === 'running' && canShare(life, 0)
        ? { life, delivery, acceptedAtMs: held?.acceptedAtMs ?? 0, atMs: now() }
        : undefined;
  };

  /** Whether nothing has been in the way since `sinceMs`. */
  const canShare = (life: Life, sinceMs: number): boolean => {
    const redis = court.redis();
    const spanMs = RECONNECT_MS + now() - Math.max(sinceMs, life.stateSinceMs);
    return (
      setup.hasRedis &&
      court.areTimesTrue() &&
      life.state === 'running' &&
      redis.calmForMs() > (sinceMs === 0 ? RECONNECT_MS : now() - sinceMs + RECONNECT_MS) &&
      now() - life.stateSinceMs > (sinceMs === 0 ? RECONNECT_MS : now() - sinceMs + RECONNECT_MS) &&
      lateMs(life, now() - spanMs) === 0
    );
  };

  const judgeSharing = (life: Life): void => {
    if (!newest) return;
    if (newest.life.state !== 'running' || court.redis().calmForMs() < now() - newest.atMs + RECONNECT_MS) {
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
    const { held, origin } = factsOf(life);
    const isKept = isAsNew(origin, held?.acceptedAtMs ?? 0) || shelfOf(life).refusedAtMs >= atMs;
    expectShared(
      isKept || mayRefuse(delivery.version.published),
      () => `not ${life.name} after ${now() - atMs} ms`,
    );
  };

  /** The snapshot has the list that is served, if the disk has worked since. */
  const judgeSnapshot = (life: Life): void => {
    const { disk } = life.replica;
    const shelf = shelfOf(life);
    const isTroubled = disk.fails;
    shelf.slowestMs = Math.max(shelf.slowestMs, disk.slowMs);
    // What ends at this moment has been there until now.
    if (isTroubled || shelf.diskTroubledAtMs === Infinity) shelf.diskTroubledAtMs = now();
    if (isTroubled) shelf.diskTroubledAtMs = Infinity;
    const { held, heldAtMs } = factsOf(life);
    const sinceMs = Math.max(heldAtMs, life.stateSinceMs);
    if (!setup.hasSnapshot || !held || life.state !== 'running') return;
    if (now() - sinceMs <= SHARE_MS + 4 * shelf.slowestMs) return;
    if (shelf.diskTroubledAtMs > heldAtMs - 4 * shelf.slowestMs - 20 * SECOND || !life.core.list.served())
      return;
    if (!court.areTimesTrue() || lateMs(life, heldAtMs) > 0 || life.writes > 0) return;
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
    writer instanceof Life && !writer.isAlive && writer.stateSinceMs - writtenAtMs < SHARE_MS;

  const judgeConnection = (life: Life): void => {
    const redis = court.redis();
    const shelf = shelfOf(life);
    const isConnected = redis.isConnected(life);
    const wasConnectedSinceMs = shelf.connectedSinceMs;
    if (isConnected) {
      shelf.disconnectedSinceMs = undefined;
      shelf.cutAtMs = undefined;
      shelf.connectedSinceMs ??= now();
    } else {
      shelf.disconnectedSinceMs ??= now();
      shelf.connectedSinceMs = undefined;
      // After a ping nothing is left of the outages before.
      if (now() - (wasConnectedSinceMs ?? now()) > RECONNECT_MS && redis.connectionsOf(life) === 0)
        shelf.cutAtMs = now();
    }
    if (!setup.hasRedis || life.state !== 'running' || lateMs(life, now() - RECONNECT_MS) > 0) return;
    const last = shelf.last.get('CACHE_REDIS_URL');
    const cutMs = now() - (shelf.cutAtMs ?? now());
    expectTold(
      cutMs < SECOND || redis.calmForMs() < cutMs,
      () => `no new connection ${cutMs} ms after the first was cut`,
    );
    const runMs = now() - life.stateSinceMs;
    const offlineMs = now() - Math.max(shelf.disconnectedSinceMs ?? now(), life.stateSinceMs);
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
          shelf.refusedAtMs > (court.sharedList?.writtenAtMs ?? 0) - SHARE_MS,
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
    const shelf = shelfOf(life);
    if (life.state !== 'running' || !setup.hasSnapshot) return;
    expectTold(
      shelf.diskFailed === (shelf.last.get('CACHE_SNAPSHOT_FILE') === 'store-failed'),
      () => `the disk ${shelf.diskFailed ? 'fails' : 'works'}`,
    );
  };

  return {
    onEvent,
    onRenewed,
    onListWritten,
    onDiskDone: (life: Life, result: 'read' | 'written' | 'failed') => {
      // A slow read may end after a write has failed, and shows nothing about the next one.
      if (result !== 'read') shelfOf(life).diskFailed = result === 'failed';
    },
    inspect: judgeDisk,
    judgeTimes: (life: Life) => {
      judgeSharing(life);
      judgeSnapshot(life);
      judgeConnection(life);
    },
    /** What was last said of each store. */
    lastOf: (life: Life) => shelfOf(life).last,
  };
};
