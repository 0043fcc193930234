import { randomUUID } from 'node:crypto';
import type { CachedList, SavedList } from '../banks/cached-list.ts';
import { isAt, nextVersion, type StoreVersion } from '../banks/order.ts';
import { storeTime, type Clock, type MonotonicMs } from '../clock.ts';
import type { Envelope } from './envelope.ts';
import { StoreError } from './store-report.ts';
import { COMPARED_BYTES, type RedisClient, type RedisEntry } from './redis-client.ts';
import { createRedisConnection, type RedisConnectionOptions } from './redis-connection.ts';
import { readHead, writeHead } from './saved-version.ts';
import {
  createLeaseFormat,
  type LeaseToWrite,
  type LeaseWithOwner,
  type StoreMoment,
} from './saved-lease.ts';
import type { Signing } from './signing.ts';

// The head, the list and the lease in Redis or Valkey, 6 or newer: RESP3 carries commands and
// messages on one connection. README.md says what the values contain.
//
// The store remembers what it saw at the last look, and writes only over that: `version`, `lease`
// and `isAvailable` are as of that look. Redis deletes the values after a time only to
// clean up: no rule depends on it.

export interface RedisStoreOptions extends Omit<RedisConnectionOptions, 'handshake'> {
  readonly envelope: Envelope;
  readonly signing: Signing;
  /** Milliseconds after which Redis may delete a list. */
  readonly listLifeMs: number;
  /** In milliseconds; a longer lease is ignored. */
  readonly longestLeaseMs: number;
  /** Measures the ages of lists. */
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

/** What is in the store, without the list itself. */
export interface StoreContent {
  /** What is compared before a list is written. */
  readonly head: Buffer | undefined;
  /** What the head says; undefined if it is invalid. */
  readonly version: StoreVersion | undefined;
  /** What is compared before a lease is written. */
  readonly leaseBytes: Buffer | undefined;
  /** Undefined if nobody has it; see {@link createLeaseFormat} for one that has ended. */
  readonly lease: LeaseWithOwner | undefined;
  readonly moment: StoreMoment;
}

/** What became of a lease; `overtaken`: another replica has written one. */
export type LeaseResult = 'written' | 'overtaken' | 'no redis';

export type RedisStore = ReturnType<typeof createRedisStore>;

const INVALID_HEAD = Buffer.from('invalid');

/** The previous release has its list under another key. */
const oldFormatKey = (provenance: string): string => `banks-bff:1:${provenance}:list`;

export const createRedisStore = (options: RedisStoreOptions) => {
  const { envelope, signing, listLifeMs, longestLeaseMs, clock, report } = options;
  /** Identifies this replica as the sender of messages and the owner of the lease. */
  const ownId = randomUUID();
  const leaseFormat = createLeaseFormat({ ownId, signing, longestLeaseMs });
  const names = (): Promise<Names> => namesFor(envelope.provenance, signing);
  /**
   * What Redis had at the last look, or was written since; undefined while it cannot be used. A
   * write changes only its own part, because the other one may have been written meanwhile.
   */
  let content: StoreContent | undefined;
  let onNews = (): void => {};
  /** The message about the last write. */
  let announced: Promise<unknown> = Promise.resolve();

  const session = createSession({ names, ownId, onNews: () => onNews() });
  const connection = createRedisConnection({ ...options, handshake: session.handshake });

  /**
   * Whether the series in Redis began after this replica connected. A server loads older data only
   * before it accepts connections: a series that was there then may have lost lists.
   */
  const isSeriesWhole = (): boolean => content?.version?.series !== session.seriesAtStart();

  /** The first `maxBytes` of each value, and the moment at which they were read. */
  const read = async (keys: readonly string[], maxBytes: number) => {
    const { storeMs, values } = await connection.run((redis) => redis.read(keys, maxBytes));
    return { values, moment: { storeMs, nowMs: clock.monotonicMs() } };
  };

  /** Writes over `expected`, and sends a message. @returns whether it was written */
  const write = async (
    expected: Buffer | undefined,
    entries: readonly RedisEntry[],
    lifeMs: number,
  ) => {
    const { news } = await names();
    const isSet = await connection.run((redis) => redis.compareAndSet(expected, entries, lifeMs));
    // It may be lost: every replica looks at Redis within seconds anyway.
    if (isSet)
      announced = connection.run((redis) => redis.publish(news, ownId)).catch(() => undefined);
    return isSet;
  };

  return {
    /**
     * Starts connecting, and keeps reconnecting. Calls `listener` after each connection, and for
     * each message of another replica.
     */
    open: (listener: () => void): void => connection.open((onNews = listener)),
    /** Closes the connection once the message about the last write has been sent. */
    close: async (): Promise<void> => {
      await announced;
      connection.close();
    },
    /** Whether the last look succeeded: an open connection is not enough without the key. */
    isAvailable: (): boolean => content !== undefined && connection.isOpen(),
    /** Redis cannot be used before the next look. */
    failed: (error: unknown): undefined => {
      content = undefined;
      report.unlessReported(error);
    },
    /** Of the list in Redis at the last look. */
    version: (): StoreVersion | undefined => content?.version,
    /** The lease at the last look; undefined while nobody has it, or Redis cannot be used. */
    lease: (): LeaseWithOwner | undefined => content?.lease,
    /**
     * Connects anew, with the address as it is now. @returns why the connection in use stays, if it
     * does
     */
    renewConnection: connection.renew,
    /** @throws {StoreError | SecretFileError} */
    look: async (): Promise<StoreContent> => {
      const keys = await names();
      if (!session.uses(keys)) await connection.run(session.handshake);
      const { values, moment } = await read([keys.head, keys.lease], COMPARED_BYTES);
      connection.endBackOff();
      const [head, leaseBytes] = values;
      const lease = await leaseFormat.read(leaseBytes, moment);
      return (content = { head, version: readHead(head), leaseBytes, lease, moment });
    },
    /**
     * The list to which the head belongs; undefined if there is none.
     * @throws {StoreError | LoadError | SecretFileError} if it is damaged, or does not belong to
     *   the head
     */
    readList: async (): Promise<SavedList | undefined> => {
      const { head, list } = await names();
      const { values, moment } = await read([head, list], envelope.maxBytes + 1);
      return openList(envelope, values, moment);
    },
    /** Undefined if there is none. @throws the same */
    readOldFormatList: async (): Promise<SavedList | undefined> => {
      const key = oldFormatKey(envelope.provenance);
      const { values, moment } = await read([key], envelope.maxBytes + 1);
      return values[0] && envelope.open(values[0], moment);
    },
    /**
     * Writes a list over the one of the last look.
     * @param replaced the version of that one, if it could be read
     * @returns the version of the store then; undefined if another replica has written a list
     * @throws {StoreError | SecretFileError}
     */
    writeList: async (list: CachedList, replaced: StoreVersion | undefined) => {
      if (!content) return undefined;
      const seen = content;
      const version = nextVersion(replaced, list, isSeriesWhole());
      const head = writeHead(version);
      const stored: CachedList = { ...list, place: { kind: 'stored', version } };
      const sealed = await envelope.seal(stored, movedTo(clock.monotonicMs(), seen.moment));
      const keys = await names();
      const entries = [
        { key: keys.head, value: head },
        { key: keys.list, value: sealed },
      ];
      if (!(await write(seen.head, entries, listLifeMs))) return undefined;
      if (content) content = { ...content, head, version };
      return version;
    },
    /**
     * Makes the head of the last look invalid, which every replica notices at its next look: those
     * that have a list write it.
     * @throws {StoreError | SecretFileError}
     */
    invalidateHead: async (): Promise<void> => {
      if (!content) return;
      const { head: key } = await names();
      await write(content.head, [{ key, value: INVALID_HEAD }], listLifeMs);
    },
    /** Writes a lease over the one of the last look. Never rejects. */
    writeLease: async (next: LeaseToWrite): Promise<LeaseResult> => {
      if (!content) return 'no redis';
      try {
        const seen = content;
        const moment = movedTo(clock.monotonicMs(), seen.moment);
        const { lease: key } = await names();
        const value = await leaseFormat.write(next, moment);
        if (!(await write(seen.leaseBytes, [{ key, value }], longestLeaseMs))) return 'overtaken';
        const lease = await leaseFormat.read(value, moment);
        if (content) content = { ...content, leaseBytes: value, lease };
        return 'written';
      } catch (error) {
        report.unlessReported(error);
        return 'no redis';
      }
    },
  };
};

/**
 * @param values the head and the list
 * @throws {StoreError | LoadError | SecretFileError} if the list does not belong to the head
 */
const openList = async (
  envelope: Envelope,
  [head, bytes]: readonly (Buffer | undefined)[],
  moment: StoreMoment,
): Promise<SavedList | undefined> => {
  if (!head || !bytes) return undefined;
  const list = await envelope.open(bytes, moment);
  const version = readHead(head.subarray(0, COMPARED_BYTES));
  if (!version || !isAt(version, list))
    throw new StoreError('contains a list that does not belong to its version; ignored');
  return list;
};

/** The moment of the store at `laterMs` of this replica. */
const movedTo = (laterMs: MonotonicMs, { storeMs, nowMs }: StoreMoment): StoreMoment => ({
  storeMs: storeTime(storeMs + (laterMs - nowMs)),
  nowMs: laterMs,
});

type Names = Awaited<ReturnType<typeof namesFor>>;

/**
 * Another configuration and another key use other names. The braces put all of them into one slot
 * of a Cluster.
 */
const namesFor = async (provenance: string, signing: Signing) => {
  const keyId = await signing.keyId();
  const prefix = `banks-bff:2:{${provenance}${keyId && `.${keyId}`}}`;
  return {
    head: `${prefix}:head`,
    list: `${prefix}:list`,
    lease: `${prefix}:lease`,
    news: `${prefix}:news`,
    probe: `${prefix}:probe:`,
  };
};

interface SessionOptions {
  readonly names: () => Promise<Names>;
  readonly ownId: string;
  readonly onNews: () => void;
}

/** What the last handshake found: each connection has one, and each signing key, with its names. */
const createSession = ({ names, ownId, onNews }: SessionOptions) => {
  let series: string | undefined;
  let news: string | undefined;
  return {
    handshake: async (redis: RedisClient): Promise<void> => {
      const keys = await names();
      series = await handshake(redis, keys, ownId, onNews);
      news = keys.news;
    },
    /** What Redis had at its handshake. */
    seriesAtStart: (): string | undefined => series,
    /** Whether messages arrive under these names; also before the first connection. */
    uses: (keys: Names): boolean => news === undefined || news === keys.news,
  };
};

/**
 * Tries everything that is used: nothing can be shared through a server that is read-only or full,
 * or that denies this user a command. Calls `onNews` for each message of another replica.
 * @returns the series that it had
 */
const handshake = async (
  redis: RedisClient,
  { head, probe, news }: Names,
  ownId: string,
  onNews: () => void,
): Promise<string | undefined> => {
  const { values } = await redis.read([head], COMPARED_BYTES);
  // Under a name of its own: what an earlier handshake wrote may expire at any moment.
  const entry = { key: probe + randomUUID(), value: Buffer.from(ownId) };
  if (!(await redis.compareAndSet(undefined, [entry], PROBE_LIFE_MS)))
    throw new StoreError('changes a value that only this replica writes');
  await redis.subscribe(news, (sender) => {
    if (sender !== ownId) onNews();
  });
  await redis.publish(news, ownId);
  return readHead(values[0])?.series;
};

const PROBE_LIFE_MS = 1_000;
