import type { ListStatus } from '../../src/banks/bank-list.ts';
import type { Overridable } from '../../src/banks/guard/guard.ts';
import type { LoadErrorKind } from '../../src/banks/load-error.ts';
import type { StoreName } from '../../src/sharing/store-report.ts';
import type { ServiceEvent } from '../../src/telemetry/events.ts';
import type { BankList, Fields } from './bank-lists.ts';
import type { SecretName } from './secret-files.ts';

// What really happened in a run, in true time (milliseconds since its beginning) and in the
// simulator's own order: recorded while it runs, and checked afterwards by
// tools/simulation/checks/. Nothing here was written by the service, except what its users and
// operators read.

/** One run of a replica's process. */
export interface Process {
  readonly name: string;
  /** Of its replica. */
  readonly index: number;
  readonly fields: Fields;
  readonly ttlMs: number;
  readonly maxStaleMs: number;
  readonly timeoutMs: number;
  readonly startedAtMs: number;
  /** By its machine's clock. */
  readonly startedWallMs: number;
  /** What its snapshot file had. */
  readonly snapshot: Buffer | undefined;
  /** The store that it says its first list is from; undefined: none. */
  restoredFrom?: StoreName | undefined;
  /** From here on it may be asked for the list. */
  readyAtMs: number;
  /** When it was killed or told to stop. */
  endedAtMs: number;
  /** The same, by its machine's clock. */
  endedWallMs: number;
  /** When it was killed, maybe while it was stopping. */
  killedAtMs: number;
}

/** A call to the provider. */
export interface Call {
  readonly number: number;
  readonly process: Process;
  readonly askedAtMs: number;
  /** An operator is waiting for its result. */
  readonly isForced: boolean;
  /** Whether its replica had a list to serve. */
  readonly hadList: boolean;
  /** When a usable list had arrived completely, and which; infinite without one. */
  deliveredAtMs: number;
  list?: BankList;
  /** Whether the answer named a next page, and how many of its entries are unusable, by reason. */
  hasNextPage?: boolean;
  rejected?: Readonly<Record<string, number>>;
  /** What the provider did instead. */
  failure?: LoadErrorKind;
  /** As the provider said. */
  retryAfterMs?: number | undefined;
  /** Infinite while it goes on. */
  endedAtMs: number;
  /** What it was made with. */
  readonly token: string;
}

/** From `fromMs` until `untilMs` a process served this list; undefined: none. */
export interface Serving {
  readonly process: Process;
  readonly fromMs: number;
  /** By its machine's clock. */
  readonly wallFromMs: number;
  untilMs: number;
  readonly list: BankList | undefined;
}

/** A browser's request for the list. */
export interface Visit {
  readonly process: Process;
  readonly atMs: number;
  endedAtMs?: number;
  list?: BankList;
  /** One for each coding. */
  etags?: readonly string[];
  /** The list's age as the browser reads it. */
  ageMs?: number;
  failure?: LoadErrorKind;
  /** After a failure: when the browser may ask again, as it reads in Retry-After. */
  retryInMs?: number;
}

/** What /healthz, the metrics and the status page are made of, at a moment. */
export interface Reading {
  readonly process: Process;
  readonly atMs: number;
  /** By its machine's clock. */
  readonly wallMs: number;
  readonly status: ListStatus;
  /** The cached list, which may be too old to be served. */
  readonly list: BankList | undefined;
  /** What /readyz tells. */
  readonly isReady: boolean;
  /** Whether the snapshot file has the cached list. */
  readonly isSaved: boolean;
  /** The secrets whose files it says are not usable. */
  readonly unusableFiles: readonly string[];
}

/** An event for the log and the metrics. */
export interface Report {
  readonly process: Process;
  readonly atMs: number;
  /** By its machine's clock. */
  readonly wallMs: number;
  readonly event: ServiceEvent;
  /** The list that it is about, and the one before. */
  readonly list?: BankList | undefined;
  readonly previous?: BankList | undefined;
  /** What the log made of it. */
  readonly lines: readonly Readonly<Record<string, unknown>>[];
}

/** An operator's refresh. */
export interface Refresh {
  readonly process: Process;
  readonly atMs: number;
  /** For what the guard is not to refuse the list. */
  readonly accepts: readonly Overridable[];
  /** Of the request. */
  readonly id: string;
  endedAtMs?: number;
  /** What is wrong with the secrets, as the operator was told. */
  readonly problems: readonly string[];
  /** What the operator was told of the list. */
  answer?: 'ok' | 'not shared' | LoadErrorKind;
}

/** What the stores have is that of the previous release: a trouble of each. */
export const UPGRADED = 'upgraded';

/** Something that is wrong, or was done from outside. */
export interface Trouble {
  readonly kind:
    | 'provider'
    | 'list'
    | 'redis'
    | 'silent redis'
    | 'redis clock'
    | 'disk'
    | 'process'
    | 'sleep'
    | 'clock'
    /** Its file is not usable, or it is not the same everywhere. */
    | 'secret';
  /** What is wrong with Redis, or was done to the snapshot, or which secret it is. */
  readonly what?: string | undefined;
  /** The replica, or all of them. */
  readonly who: number | 'all';
  readonly fromMs: number;
  untilMs: number;
}

/** Whether something is wrong for the replica, or for any where `who` is all, in the interval. */
export const isTroubling = (
  trouble: Trouble,
  who: Trouble['who'],
  fromMs: number,
  untilMs: number,
): boolean =>
  (who === 'all' || trouble.who === 'all' || trouble.who === who) &&
  trouble.fromMs <= untilMs &&
  trouble.untilMs >= fromMs;

/** A list that the previous release had saved when the fleet was upgraded. */
export interface Inherited {
  readonly atMs: number;
  /** In Redis, or on the disk of this replica. */
  readonly where: number | 'redis';
  /** Which had brought it. */
  readonly call: Call;
  /** Of the operator's decision that was saved with it. */
  readonly requestId: string | undefined;
  /** Its fleet has a key, and so reads nothing that is not signed. */
  readonly isIgnored: boolean;
}

/** A list was written to Redis. */
export interface Write {
  readonly atMs: number;
  /** Which had brought it. */
  readonly call: Call;
  /** Who wrote it. */
  readonly writer: Process;
}

/** From `fromMs` on the file of a machine held this secret; undefined: it was not usable. */
export interface Holding {
  /** Of its replica. */
  readonly index: number;
  readonly name: SecretName;
  readonly fromMs: number;
  readonly secret: string | undefined;
}

/** From `fromMs` on Redis had what it has got since it was empty for this time. */
export interface Era {
  readonly fromMs: number;
  readonly number: number;
}

export interface History {
  /** Whether each answer of the provider can be told from every other one. */
  readonly everyAnswerDiffers: boolean;
  readonly hasRedis: boolean;
  readonly hasSnapshot: boolean;
  readonly processes: Process[];
  readonly calls: Call[];
  readonly servings: Serving[];
  readonly visits: Visit[];
  readonly readings: Reading[];
  readonly reports: Report[];
  readonly refreshes: Refresh[];
  readonly troubles: Trouble[];
  readonly writes: Write[];
  readonly inherited: Inherited[];
  readonly eras: Era[];
  /** Those of the fleets that have their secrets in files. */
  readonly holdings: Holding[];
  /** What happened that may never happen. */
  readonly defects: string[];
}
