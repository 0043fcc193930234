/* oxlint-disable max-lines-per-function */
import { randomUUID } from 'node:crypto';
import type { HeldList, SavedList } from '../banks/cached-list.ts';
import { LOAD_ERROR_KINDS, type LoadErrorKind } from '../banks/load-error.ts';
import type { Lease, SharedFailure } from '../banks/loading/fleet.ts';
import type { Position } from '../banks/order.ts';
import { isJsonObject, parseJson } from '../banks/reading/entry.ts';
import { monotonic, storeTime, type MonotonicMs, type StoreMs } from '../clock.ts';
import { passwordsIn } from '../config/values.ts';
import type { SecretFiles, SecretSource } from '../secrets/secret-files.ts';
import type { Envelope } from './envelope.ts';
import { StoreError } from './list-store.ts';
import type { RedisClient, RedisEntry } from './redis-client.ts';
import { createRedisConnection, type RedisConnectionOptions } from './redis-connection.ts';
import { isText, isWholeUpTo, MAX_DURATION_MS, MAX_VERSION } from './saved-values.ts';
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

export interface RedisStoreOptions extends Omit<RedisConnectionOptions, 'handshake'> {
  readonly envelope: Envelope;
  readonly signing: Signing;
  /** Milliseconds for which a list is worth keeping. */
  readonly lifeMs: number;
  readonly ttlMs: number;
  /** The longest lease that can be meant, in milliseconds; a longer one is ignored. */
  readonly longestLeaseMs: number;
  /** For the ages of lists; `clock` is for the deadlines of the network. */
  readonly listClock: { readonly monotonicMs: () => MonotonicMs };
}

/** A moment of the store, and the same of this replica. */
interface StoreMoment {
  readonly storeMs: StoreMs;
  readonly nowMs: MonotonicMs;
}

/** What is in the store, as far as a few bytes tell. */
export interface StoreContent {
  /** What is compared before a list is written. */
  readonly head: Buffer | undefined;
  /** What the head says; undefined if it says nothing that can be understood. */
  readonly place: Position | undefined;
  /** What is compared before a lease is written. */
  readonly leaseToken: Buffer | undefined;
  /** Undefined if nobody has it. */
  readonly lease: (Lease & { readonly isOwn: boolean }) | undefined;
  readonly moment: StoreMoment;
}

export type RedisStore = ReturnType<typeof createRedisStore>;

const MAX_TOKEN_BYTES = 1024;
/** The version of this service before this one has its list under another key. */
const KEY_BEFORE = (provenance: string): string => `banks-bff:1:${provenance}:list`;

export const createRedisStore = (options: RedisStoreOptions) => {
  const { envelope, signing, lifeMs, ttlMs, longestLeaseMs, listClock, ...connecting } = options;
  /** Identifies this replica as the sender of messages and the owner of the lease. */
  const ownId = randomUUID();
  const names = async () => {
    // Another configuration and another key use other names. The braces put all of them into one
    // slot of a Cluster.
    const keyId = await signing.keyId();
    const prefix = `banks-bff:2:{${envelope.provenance}${keyId && `.${keyId}`}}`;
    return {
      head: `${prefix}:head`,
      list: `${prefix}:list`,
      lease: `${prefix}:lease`,
      news: `${prefix}:news`,
      probe: `${prefix}:probe:${ownId}`,
    };
  };
  let notify = (): void => {};

  const connection = createRedisConnection({
    ...connecting,
    handshake: async (redis) => {
      const { probe, news } = await names();
      // Everything that is used is tried: nothing can be shared through a server that is read-only
      // or full, or that denies this user a command.
      const { values } = await redis.look([probe], MAX_TOKEN_BYTES);
      await redis.compareAndSet(
        values[0],
        [{ key: probe, value: Buffer.from(ownId) }],
        PROBE_LIFE_MS,
      );
      await redis.subscribe(news, (sender) => {
        if (sender !== ownId) notify();
      });
      await redis.publish(news, ownId);
    },
  });

  const look = async (redis: RedisClient, keys: readonly string[], maxBytes: number) => {
    const { nowMs, values } = await redis.look(keys, maxBytes);
    return { values, moment: { storeMs: nowMs, nowMs: listClock.monotonicMs() } };
  };

  /** @returns whether it was written */
  const set = async (
    expected: Buffer | undefined,
    entries: readonly RedisEntry[],
    life: number,
  ) => {
    const { news } = await names();
    const isSet = await connection.run((redis) => redis.compareAndSet(expected, entries, life));
    // A message is a hint: every replica looks by itself before long.
    if (isSet) void connection.run((redis) => redis.publish(news, ownId)).catch(() => undefined);
    return isSet;
  };

  const writeLease = async (content: SavedLease): Promise<Buffer> =>
    signing.sign('lease', Buffer.from(`${JSON.stringify(content)}\n`));

  const readLease = async (bytes: Buffer | undefined, moment: StoreMoment) => {
    if (!bytes) return undefined;
    const signed = await signing.verify('lease', bytes).catch((error: unknown) => {
      if (error instanceof StoreError) return undefined;
      throw error;
    });
    const saved = signed && toLease(parseJson(signed.toString()));
    const leftMs = saved ? saved.heldUntilMs - moment.storeMs : 0;
    if (!saved || leftMs <= 0 || leftMs > longestLeaseMs) return undefined;
    const { id, owner, failure } = saved;
    const askedForMs = failure && Math.max(0, failure.askedUntilMs - moment.storeMs);
    return {
      id,
      isOwn: owner === ownId,
      heldUntilMs: monotonic(moment.nowMs + leftMs),
      failure: failure && { ...failure, askedForMs: askedForMs ?? 0 },
    };
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
    close: connection.close,
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
        lease: await readLease(leaseToken, moment),
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
    /** The list that the version of this service before saved; undefined if there is none. */
    readListBefore: async (): Promise<SavedList | undefined> => {
      const { values, moment } = await connection.run((redis) =>
        look(redis, [KEY_BEFORE(envelope.provenance)], envelope.maxBytes + 1),
      );
      const [bytes] = values;
      return bytes && envelope.open(bytes, moment, ttlMs);
    },
    /**
     * Writes the list if the head is still `expected`.
     * @param endsLease the list is fresh: no request is due for anybody
     */
    write: async (
      list: HeldList,
      place: Position,
      expected: Buffer | undefined,
      { storeMs, nowMs }: StoreMoment,
      endsLease: boolean,
    ): Promise<boolean> => {
      const keys = await names();
      const now = listClock.monotonicMs();
      const moment = { storeMs: storeMs + (now - nowMs), nowMs: now };
      const entries = [
        { key: keys.head, value: writeHead(place) },
        { key: keys.list, value: await envelope.seal(list, place, moment) },
      ];
      const ended = { id: randomUUID(), owner: ownId, heldUntilMs: 0 };
      if (endsLease) entries.push({ key: keys.lease, value: await writeLease(ended) });
      return set(expected, entries, lifeMs);
    },
    /** Takes the list out of use, and tells the other replicas, if the head is still `expected`. */
    setAside: async (expected: Buffer): Promise<boolean> => {
      const { head } = await names();
      return set(expected, [{ key: head, value: SET_ASIDE }], lifeMs);
    },
    /** Writes a lease for `forMs`, or ends it, if it is still `expected`. */
    writeLease: async (
      forMs: number,
      failure: SharedFailure | undefined,
      { leaseToken, moment }: Pick<StoreContent, 'leaseToken' | 'moment'>,
    ): Promise<boolean> => {
      const { lease } = await names();
      const storeMs = moment.storeMs + (listClock.monotonicMs() - moment.nowMs);
      const content = {
        id: randomUUID(),
        owner: ownId,
        heldUntilMs: Math.max(0, Math.round(storeMs + forMs)),
        failure: failure && {
          ...failure,
          askedUntilMs: Math.max(0, Math.round(storeMs + failure.askedForMs)),
        },
      };
      return set(leaseToken, [{ key: lease, value: await writeLease(content) }], longestLeaseMs);
    },
  };
};

const PROBE_LIFE_MS = 1_000;
/** Instead of a head. */
const SET_ASIDE = Buffer.from('-');

const writeHead = ({ register, version, id }: Position): Buffer =>
  Buffer.from(`${register}:${version}:${id}`);

const readHead = (bytes: Buffer | undefined): Position | undefined => {
  const [register = '', version = '', id = '', ...rest] =
    bytes?.toString('latin1').split(':') ?? [];
  const isWhole = /^\d{1,16}$/.test(version) && Number(version) <= MAX_VERSION;
  return isWhole && isText(64, register) && isText(64, id) && id !== '' && rest.length === 0
    ? { register, version: Number(version), id }
    : undefined;
};

interface SavedLease {
  readonly id: string;
  readonly owner: string;
  /** Milliseconds since 1970 by the store's clock. */
  readonly heldUntilMs: number;
  readonly failure?: SavedFailure | undefined;
}

type SavedFailure = Omit<SharedFailure, 'askedForMs'> & {
  /** Milliseconds since 1970 by the store's clock. */
  readonly askedUntilMs: number;
};

const toLease = (value: unknown): (SavedLease & { readonly heldUntilMs: StoreMs }) | undefined => {
  if (!isJsonObject(value)) return undefined;
  const { id, owner, heldUntilMs } = value;
  if (!isText(64, id) || !isText(64, owner) || !isWholeUpTo(MAX_DURATION_MS, heldUntilMs))
    return undefined;
  return { id, owner, heldUntilMs: storeTime(heldUntilMs), failure: toFailure(value['failure']) };
};

const toFailure = (value: unknown): SavedFailure | undefined => {
  if (!isJsonObject(value)) return undefined;
  const { id, kind, attempts, failingForMs, askedUntilMs } = value;
  const isFailure =
    isText(64, id) &&
    isLoadErrorKind(kind) &&
    isWholeUpTo(1e9, attempts) &&
    isWholeUpTo(MAX_DURATION_MS, failingForMs) &&
    isWholeUpTo(MAX_DURATION_MS, askedUntilMs);
  return isFailure ? { id, kind, attempts, failingForMs, askedUntilMs } : undefined;
};

const isLoadErrorKind = (value: unknown): value is LoadErrorKind =>
  LOAD_ERROR_KINDS.some((kind) => kind === value);

/**
 * Gives the address of Redis. A file is read again each time, so a new password is used at the next
 * connection.
 * @throws {SecretFileError} if the file has never had a usable address
 */
export const createRedisUrl = (
  source: SecretSource,
  secrets: Pick<SecretFiles, 'reader'>,
): (() => Promise<string>) => secrets.reader('CACHE_REDIS_URL', source, passwordsIn);
