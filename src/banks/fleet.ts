import type { Clock } from '../clock.ts';
import { isLoadErrorKind, LoadError } from './load-error.ts';
import type { CachedList } from './cached-list.ts';
import type { ListContent } from './reading/list-reader.ts';

// The replicas that share the list. Redis is a cache with a lock: it has a copy of the list, and a
// hold, which is one of two things. A load: a random text of the replica that loads. A wait: what
// failed, and until when nobody loads.

/** `no_redis`: none is configured, or it cannot be written. */
export interface Fleet {
  /** Whether one is configured: there may be other replicas. */
  readonly hasRedis: boolean;
  /**
   * What Redis has now. Never rejects.
   * @param known the id of the list that need not be sent
   */
  look(known: string): Promise<View>;
  /**
   * Replaces the hold `seen` by `mine`, which ends after `ms`, unless it is another one by now.
   * Never rejects.
   */
  replaceHold(seen: string, mine: string, ms: number): Promise<HoldResult | 'no_redis'>;
  /**
   * Writes the list unless Redis has one with an id greater than `ownId`, other than `unusable`.
   * Never rejects.
   */
  publish(list: CachedList, ownId: string, unusable: string): Promise<PublishResult | 'no_redis'>;
  /** Milliseconds since 1970 by the clock of Redis, or before the first reply by this machine's. */
  redisNowMs(): number;
}

/** `timeUs`: when the hold was replaced, in microseconds by the clock of Redis. */
export type HoldResult = { readonly timeUs: number } | 'taken';

export type PublishResult = 'written' | 'later_list';

/** A look at Redis. */
export interface View {
  readonly up: boolean;
  /** Of the list that is there; empty: none. */
  readonly id: string;
  /** That list, unless it is the known one or cannot be used. */
  readonly list?: SavedList | undefined;
  /** Empty: none. */
  readonly hold: string;
  /** Milliseconds until the hold ends. */
  readonly holdLeftMs: number;
}

/** A list as it is saved: it is encoded again by whoever takes it. */
export type SavedList = Omit<CachedList, 'representations'> & Pick<ListContent, 'json'>;

export const NO_VIEW: View = { up: false, id: '', hold: '', holdLeftMs: 0 };

/** A replica without others. */
export const createSoleReplica = (clock: Pick<Clock, 'wallMs'>): Fleet => ({
  hasRedis: false,
  look: () => Promise.resolve(NO_VIEW),
  replaceHold: () => Promise.resolve('no_redis'),
  publish: () => Promise.resolve('no_redis'),
  redisNowMs: () => clock.wallMs(),
});

/** A run of failed loads; `id` is that of the newest. */
export interface Failing {
  readonly id: string;
  /** At least 1; those of other replicas included. */
  readonly attempts: number;
  readonly error: LoadError;
}

const MAX_MESSAGE_CHARS = 120;
const WAIT_TEXT =
  /^(?<id>\d{22}) (?<attempts>\d{1,9}) (?<kind>\w{1,40})(?: (?<message>[ -~]{1,120}))?$/;

/**
 * The hold that makes all replicas wait: `<id> <attempts> <kind>`, and what failed, for the pages
 * and logs of the others. Any other text says that a replica is loading.
 */
export const writeWait = ({ id, attempts, error }: Failing): string => {
  const message = error.message.replaceAll(/[^ -~]/g, '?').slice(0, MAX_MESSAGE_CHARS);
  return `${id} ${attempts} ${error.kind} ${message}`;
};

/** Undefined where the hold is not a wait. */
export const readWait = (hold: string): Failing | undefined => {
  const { id = '', attempts, kind, message } = WAIT_TEXT.exec(hold)?.groups ?? {};
  if (!isId(id) || !isLoadErrorKind(kind)) return undefined;
  const text = message ? `${message} (on another replica)` : 'another replica failed to load';
  return { id, attempts: Number(attempts), error: new LoadError(kind, text) };
};

/** The year 2128: ids beyond it are not ours, and would leave no room for later ones. */
const LATEST_US = 5e15;
/** Times after 2099 are an error of a clock. */
const LATEST_CLOCK_US = 4.1e15;

export const isId = (text: string): boolean =>
  /^\d{22}$/.test(text) && microsecondsOf(text) <= LATEST_US;

const microsecondsOf = (id: string): number => Number(id.slice(0, 16));

/**
 * The id of a list that is asked for at `timeUs`. Where the clock was set back, ids go on from the
 * last list, `last`, which is `lastAgeMs` old.
 */
export const newId = (
  timeUs: number,
  last: { readonly id: string; readonly ageMs: number } | undefined,
  randomDigits: number,
): string => {
  const boundedUs = Math.floor(Math.min(timeUs, LATEST_CLOCK_US));
  const lastUs = last ? microsecondsOf(last.id) : 0;
  const us =
    boundedUs > lastUs ? boundedUs : Math.ceil(lastUs + 1_000 * Math.max(0, last?.ageMs ?? 0)) + 1;
  return `${String(us).padStart(16, '0')}${String(randomDigits).padStart(6, '0')}`;
};
