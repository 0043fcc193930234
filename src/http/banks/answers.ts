import type { BankList } from '../../banks/bank-list.ts';
import type { HeldList, ServedList } from '../../banks/cached-list.ts';
import type { Coding, Representation } from '../../banks/representation.ts';
import { cacheControl, cacheStatus, type CachePolicy } from './cache-headers.ts';
import type { FlatFields } from '../headers.ts';
import type { Validators } from './preconditions.ts';

// The successful answers of /banks, ready to be sent: all that they need is made once per list and second, and a
// request only chooses.

/** One thing for each coding that this Node can make. */
export type PerCoding<T> = Readonly<Record<Exclude<Coding, 'zstd'>, T>> & { readonly zstd?: T };

export const mapCodings = <T, U>(
  { identity, gzip, br, zstd }: PerCoding<T>,
  make: (one: T) => U,
): PerCoding<U> => ({
  identity: make(identity),
  gzip: make(gzip),
  br: make(br),
  ...(zstd && { zstd: make(zstd) }),
});

/** The two successful answers in one coding. */
export interface PreparedAnswer {
  readonly body: Buffer;
  readonly validators: Validators;
  readonly fields: FlatFields;
  /** Those of the 200 that RFC 9110 section 15.4.5 asks for; what describes the absent content stays out. */
  readonly notModifiedFields: FlatFields;
}

/** Gives the same object as long as nothing in it has changed. */
export type PrepareAnswers = (served: ServedList) => PerCoding<PreparedAnswer>;

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
  let last: Made | undefined;

  return (served) => {
    const ttl = Math.floor(served.freshForMs / 1_000);
    const failureKind = served.freshForMs < 0 ? list.status().failure?.kind : undefined;
    if (last?.list === served.list && last.ttl === ttl && last.failureKind === failureKind)
      return last.answers;
    const changing = [
      'Cache-Control',
      cacheControl(served.freshForMs, cachePolicy),
      'Cache-Status',
      cacheStatus(served, failureKind),
    ];
    const { representations, changedAtMs } = served.list;
    const answers = mapCodings<Representation, PreparedAnswer>(representations, (representation) =>
      prepareAnswer(representation, changedAtMs, vary, changing),
    );
    last = { list: served.list, ttl, failureKind, answers };
    return answers;
  };
};

/** The answers and all that they depend on. */
interface Made {
  readonly list: HeldList;
  readonly ttl: number;
  readonly failureKind: string | undefined;
  readonly answers: PerCoding<PreparedAnswer>;
}

const prepareAnswer = (
  { coding, body, etag }: Representation,
  lastModifiedMs: number,
  vary: string,
  changing: FlatFields,
): PreparedAnswer => {
  const validating = ['ETag', etag, ...changing];
  return {
    body,
    validators: { etag, lastModifiedMs },
    // Vary comes first: it replaces the one that Express's way has set for every answer, and stays in its place.
    notModifiedFields: ['Vary', vary, ...validating],
    fields: [
      'Vary',
      vary,
      'Content-Type',
      'application/json; charset=utf-8',
      ...(coding === 'identity' ? [] : ['Content-Encoding', coding]),
      'Content-Length',
      String(body.length),
      'Last-Modified',
      new Date(lastModifiedMs).toUTCString(),
      ...validating,
    ],
  };
};
