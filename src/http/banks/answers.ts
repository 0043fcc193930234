import type { BankList } from '../../banks/bank-list.ts';
import type { HeldList, ServedList } from '../../banks/cached-list.ts';
import type { Encoding, Representation } from '../../banks/representation.ts';
import { toDate } from '../../clock.ts';
import { cacheControl, cacheStatus, type CachePolicy, type Found } from './cache-headers.ts';
import type { FlatHeaders } from '../headers.ts';
import type { AnswerValidators } from './preconditions.ts';

// The successful answers of /banks, ready to be sent: they are made once per list and second, and a request only chooses.

/** One value for each encoding that this Node can make. */
export type PerEncoding<T> = Readonly<Record<Exclude<Encoding, 'zstd'>, T>> & { readonly zstd?: T };

export const mapEncodings = <T, U>(
  { identity, gzip, br, zstd }: PerEncoding<T>,
  make: (one: T) => U,
): PerEncoding<U> => ({
  identity: make(identity),
  gzip: make(gzip),
  br: make(br),
  ...(zstd && { zstd: make(zstd) }),
});

/** The two successful answers in one encoding. */
export interface PreparedAnswer {
  readonly body: Buffer;
  readonly validators: AnswerValidators;
  readonly headers: FlatHeaders;
  /** Those of the 200 that RFC 9110 section 15.4.5 asks for; what describes the absent content stays out. */
  readonly notModifiedHeaders: FlatHeaders;
}

/** Gives the same object as long as nothing in it has changed. `found` is a hit unless given. */
export type PrepareAnswers = (served: ServedList, found?: Found) => PerEncoding<PreparedAnswer>;

export interface PrepareOptions {
  readonly list: Pick<BankList, 'status'>;
  readonly cachePolicy: CachePolicy;
  /** Whether answers differ by origin (see cors.ts). */
  readonly variesByOrigin: boolean;
}

export const createPrepareAnswers = ({
  list,
  cachePolicy,
  variesByOrigin,
}: PrepareOptions): PrepareAnswers => {
  const vary = variesByOrigin ? 'Accept-Encoding, Origin' : 'Accept-Encoding';
  let last: Prepared | undefined;

  return (served, found = 'hit') => {
    const ttl = Math.floor(served.freshForMs / 1_000);
    const failureKind = served.freshForMs < 0 ? list.status().failure?.kind : undefined;
    const isSame = last?.list === served.list && last.ttl === ttl && last.failureKind === failureKind;
    if (last && isSame && last.found === found) return last.answers;
    const changing = [
      'Cache-Control',
      cacheControl(served.freshForMs, cachePolicy),
      'Cache-Status',
      cacheStatus(served, failureKind, found),
    ];
    const { representations, changedAtMs } = served.list;
    const answers = mapEncodings<Representation, PreparedAnswer>(representations, (representation) =>
      prepareAnswer(representation, changedAtMs, vary, changing),
    );
    last = { list: served.list, ttl, failureKind, found, answers };
    return answers;
  };
};

/** The answers and all that they depend on. */
interface Prepared {
  readonly list: HeldList;
  readonly ttl: number;
  readonly failureKind: string | undefined;
  readonly found: Found;
  readonly answers: PerEncoding<PreparedAnswer>;
}

const prepareAnswer = (
  { encoding, body, etag }: Representation,
  lastModifiedMs: number,
  vary: string,
  changing: FlatHeaders,
): PreparedAnswer => {
  const validating = ['ETag', etag, ...changing];
  return {
    body,
    validators: { etag, lastModifiedMs },
    // Vary comes first: it replaces the one that Express's way has set for every answer, and stays in its place.
    notModifiedHeaders: ['Vary', vary, ...validating],
    headers: [
      'Vary',
      vary,
      'Content-Type',
      'application/json; charset=utf-8',
      ...(encoding === 'identity' ? [] : ['Content-Encoding', encoding]),
      'Content-Length',
      String(body.length),
      'Last-Modified',
      toDate(lastModifiedMs).toUTCString(),
      ...validating,
    ],
  };
};

/** The state of a list that is served. */
export const stateOf = ({ freshForMs }: Pick<ServedList, 'freshForMs'>): 'fresh' | 'stale' =>
  freshForMs < 0 ? 'stale' : 'fresh';
