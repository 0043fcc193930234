import { randomUUID } from 'node:crypto';
import type { HeldList, SavedList } from '../banks/cached-list.ts';
import type { StorePlace } from '../banks/order.ts';
import { storeTime, type MonotonicMs } from '../clock.ts';
import { passwordsIn } from '../config/values.ts';
import type { SecretFiles, SecretSource } from '../secrets/secret-files.ts';
import type { Envelope } from './envelope.ts';
import { StoreError } from './list-store.ts';
import type { RedisClient, RedisEntry } from './redis-client.ts';
import { createRedisConnection, type RedisConnectionOptions } from './redis-connection.ts';
import {
  createSavedLease,
  type LeaseToWrite,
  type SavedLeaseOptions,
  type StoredLease,
  type StoreMoment,
} from './saved-lease.ts';
import { isId, MAX_VERSION } from './saved-values.ts';
import type { Signing } from './signing.ts';

// The list that replicas share in Redis or Valkey, 6 or newer (RESP3 carries commands and messages
// on one connection), and the lease. There are three values, all in one slot of a Cluster:
//
//     head   register:version:id of the list; the list is written by compare-and-set over the head.
//            '-' sets aside a list that could not be used, until a replica writes one
//     list   the envelope
//     lease  who may make the next request, and until when; written by compare-and-set over itself
//
// That they are deleted after a time only cleans up: no rule depends on it.

export interface RedisStoreOptions
  extends Omit<RedisConnectionOptions, 'handshake'>, Omit<SavedLeaseOptions, 'ownId'> {
  readonly envelope: Envelope;
  /** Milliseconds for which a list is worth keeping. */
  readonly lifeMs: number;
  readonly ttlMs: number;
  /** For the ages of lists; `clock` is for the deadlines of the network. */
  readonly listClock: { readonly monotonicMs: () => MonotonicMs };
}

/** What is in the store, as far as a few bytes tell. */
export interface StoreContent {
  /** What is compared before a list is written. */
  readonly head: Buffer | undefined;
  /** What the head says; undefined if it says nothing that can be understood. */
  readonly place: StorePlace | undefined;
  /** What is compared before a lease is written. */
  readonly leaseToken: Buffer | undefined;
  /** Undefined if nobody has it. */
  readonly lease: StoredLease | undefined;
  readonly moment: StoreMoment;
}

export type RedisStore = ReturnType<typeof createRedisStore>;

const MAX_TOKEN_BYTES = 1024;
/** The previous version of this service has its list under another key. */
const previousVersionsKey = (provenance: string): string => `banks-bff:1:${provenance}:list`;

export const createRedisStore = (options: RedisStoreOptions) => {
  const { envelope, signing, lifeMs, ttlMs, longestLeaseMs, listClock, ...connecting } = options;
  /** Identifies this replica as the sender of messages and the owner of the lease. */
  const ownId = randomUUID();
  const savedLease = createSavedLease({ ownId, signing, longestLeaseMs });
  const names = (): Promise<Names> => namesFor(envelope.provenance, signing, ownId);
  let notify = (): void => {};
  /** The message about the last write. */
  let announced: Promise<unknown> = Promise.resolve();

  const connection = createRedisConnection({
    ...connecting,
    handshake: async (redis) => prepare(redis, await names(), ownId, () => notify()),
  });

  const look = async (redis: RedisClient, keys: readonly string[], maxBytes: number) => {
    const { nowMs, values } = await redis.look(keys, maxBytes);
    return { values, moment: { storeMs: nowMs, nowMs: listClock.monotonicMs() } };
  };

  const now = (moment: StoreMoment): StoreMoment => movedTo(listClock.monotonicMs(), moment);

  /** @returns whether it was written */
  const set = async (
    expected: Buffer | undefined,
    entries: readonly RedisEntry[],
    life: number,
  ) => {
    const { news } = await names();
    const isSet = await connection.run((redis) => redis.compareAndSet(expected, entries, life));
    // A message is a hint: every replica looks by itself before long.
    if (isSet)
      announced = connection.run((redis) => redis.publish(news, ownId)).catch(() => undefined);
    return isSet;
  };

  return {
    /**
     * Starts connecting, and keeps reconnecting. Calls `onNews` after each connection, and for each
     * message.
     */
    open: (onNews: () => void): void => {
      notify = onNews;
      connection.open(onNews);
    },
    /** Closes the connection once the other replicas have been told of the last write. */
    close: async (): Promise<void> => {
      await announced;
      connection.close();
    },
    isConnected: connection.isOpen,
    /**
     * Connects anew, with the address as it is now. @returns why the connection in use stays, if it
     * does
     */
    renewConnection: connection.renew,
    /** @throws {StoreError | SecretFileError} */
    look: async (): Promise<StoreContent> => {
      const { head, lease } = await names();
      const { values, moment } = await connection.run((redis) =>
        look(redis, [head, lease], MAX_TOKEN_BYTES),
      );
      connection.hasLasted();
      const [headBytes, leaseToken] = values;
      return {
        head: headBytes,
        place: readHead(headBytes),
        leaseToken,
        lease: await savedLease.read(leaseToken, moment),
        moment,
      };
    },
    /**
     * The list to which the head belongs, and its head; undefined if there is none.
     * @throws {StoreError | LoadError | SecretFileError} if it is damaged, or does not belong to
     *   the head
     */
    readList: async (): Promise<
      { readonly list: SavedList; readonly head: Buffer } | undefined
    > => {
      const { head, list } = await names();
      const { values, moment } = await connection.run((redis) =>
        look(redis, [head, list], envelope.maxBytes + 1),
      );
      const [headBytes, bytes] = values;
      if (!headBytes || !bytes || headBytes.equals(SET_ASIDE)) return undefined;
      const saved = await envelope.open(bytes, moment, ttlMs);
      const place = readHead(headBytes.subarray(0, MAX_TOKEN_BYTES));
      if (place?.id !== saved.id || place.version !== saved.place.version)
        throw new StoreError('contains a list that does not belong to its version; ignored');
      return { list: saved, head: headBytes.subarray(0, MAX_TOKEN_BYTES) };
    },
    /** The list that the previous version of this service saved; undefined if there is none. */
    readPreviousVersionsList: async (): Promise<SavedList | undefined> => {
      const { values, moment } = await connection.run((redis) =>
        look(redis, [previousVersionsKey(envelope.provenance)], envelope.maxBytes + 1),
      );
      const [bytes] = values;
      return bytes && envelope.open(bytes, moment, ttlMs);
    },
    /** Writes the list if the head is still that of `content`. */
    write: async (list: HeldList, place: StorePlace, content: StoreContent): Promise<boolean> => {
      const keys = await names();
      const entries = [
        { key: keys.head, value: writeHead(place) },
        { key: keys.list, value: await envelope.seal(list, place, now(content.moment)) },
      ];
      return set(content.head, entries, lifeMs);
    },
    /** Takes the list out of use, and tells the other replicas, if the head is still `expected`. */
    setAside: async (expected: Buffer): Promise<boolean> => {
      const { head } = await names();
      return set(expected, [{ key: head, value: SET_ASIDE }], lifeMs);
    },
    /**
     * Writes a lease, if there still is the one of `content`.
     * @returns what is there now; undefined if somebody else has written
     */
    writeLease: async (
      next: LeaseToWrite,
      content: StoreContent,
    ): Promise<StoreContent | undefined> => {
      const keys = await names();
      const moment = now(content.moment);
      const value = await savedLease.write(next, moment);
      if (!(await set(content.leaseToken, [{ key: keys.lease, value }], longestLeaseMs)))
        return undefined;
      return { ...content, leaseToken: value, lease: await savedLease.read(value, moment) };
    },
  };
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
const namesFor = async (provenance: string, signing: Signing, ownId: string) => {
  const keyId = await signing.keyId();
  const prefix = `banks-bff:2:{${provenance}${keyId && `.${keyId}`}}`;
  return {
    head: `${prefix}:head`,
    list: `${prefix}:list`,
    lease: `${prefix}:lease`,
    news: `${prefix}:news`,
    probe: `${prefix}:probe:${ownId}`,
  };
};

/**
 * Tries everything that is used: nothing can be shared through a server that is read-only or full,
 * or that denies this user a command. Calls `onMessage` for each message of another replica.
 */
const prepare = async (
  redis: RedisClient,
  { probe, news }: Names,
  ownId: string,
  onMessage: () => void,
): Promise<void> => {
  const { values } = await redis.look([probe], MAX_TOKEN_BYTES);
  const entry = { key: probe, value: Buffer.from(ownId) };
  await redis.compareAndSet(values[0], [entry], PROBE_LIFE_MS);
  await redis.subscribe(news, (sender) => {
    if (sender !== ownId) onMessage();
  });
  await redis.publish(news, ownId);
};

const PROBE_LIFE_MS = 1_000;
/** Instead of a head. */
const SET_ASIDE = Buffer.from('-');

const writeHead = ({ register, version, id }: StorePlace): Buffer =>
  Buffer.from(`${register}:${version}:${id}`);

const readHead = (bytes: Buffer | undefined): StorePlace | undefined => {
  const [register = '', version = '', id = '', ...rest] =
    bytes?.toString('latin1').split(':', 4) ?? [];
  const isWhole = /^\d{1,16}$/.test(version) && Number(version) <= MAX_VERSION;
  return isWhole && isId(register) && isId(id) && id !== '' && rest.length === 0
    ? { register, version: Number(version), id }
    : undefined;
};

/**
 * Gives the address of Redis. A file is read again each time, so a new password is used at the next
 * connection.
 * @throws {SecretFileError} if the file has never had a usable address
 */
export const createRedisUrl = (
  source: SecretSource,
  secrets: Pick<SecretFiles, 'reader'>,
): (() => Promise<string>) => secrets.reader('CACHE_REDIS_URL', source, passwordsIn);
