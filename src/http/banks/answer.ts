import type { IncomingHttpHeaders } from 'node:http';
import { LRUCache } from 'lru-cache';
import Negotiator from 'negotiator';
import type { BankList } from '../../banks/bank-list.ts';
import type { CachedList, ServedList } from '../../banks/cached-list.ts';
import type { FreshnessPolicy } from '../../banks/freshness.ts';
import { ENCODINGS, type Encoding, type Representation } from '../../banks/representation.ts';
import type { Clock } from '../../clock.ts';
import { JSON_TYPE, type FlatHeaders } from '../headers.ts';
import { evaluatePreconditions } from './preconditions.ts';

// Decides about a request for /banks: which encoding, which status, which headers. The hot path and
// the Express route only send what it gives. Responses are made once per list and second; a request
// chooses one.

/** A response that is ready to be sent: the same object as long as nothing in it has changed. */
export interface Answer {
  readonly status: 200 | 304;
  readonly headers: FlatHeaders;
  /** Empty for a 304. */
  readonly body: Buffer;
  /** The state of the list that is served. */
  readonly listState: 'fresh' | 'stale';
}

export type AnswerBanks = (
  headers: IncomingHttpHeaders,
  served: ServedList,
) => Answer | 'precondition_failed';

type CachePolicy = FreshnessPolicy & { readonly browserMaxAgeMs: number };

interface AnswerOptions {
  readonly list: Pick<BankList, 'status'>;
  readonly cachePolicy: CachePolicy;
  /** Whether responses differ by origin (see cors.ts). */
  readonly variesByOrigin: boolean;
  readonly clock: Pick<Clock, 'wallMs'>;
}

/** Both responses in one encoding. */
type Answers = Readonly<Record<Answer['status'], Answer>>;

/** The responses of one second, and all that they depend on. */
interface Prepared {
  readonly list: CachedList;
  readonly ttl: number;
  readonly failureKind: string | undefined;
  readonly answers: Readonly<Record<Encoding, Answers>>;
}

const NO_BODY = Buffer.alloc(0);

export const createAnswerBanks = (options: AnswerOptions): AnswerBanks => {
  const { list, cachePolicy, variesByOrigin, clock } = options;
  const negotiate = createNegotiate();
  const vary = variesByOrigin ? 'Accept-Encoding, Origin' : 'Accept-Encoding';

  const makeAnswers = (
    { encoding, body, etag }: Representation,
    { list: cached, freshForMs }: ServedList,
    failureKind: string | undefined,
  ): Answers => {
    const listState = freshForMs < 0 ? 'stale' : 'fresh';
    // RFC 9110 section 8.8.2.1: never later than Date. Conditions compare the time that is never
    // clamped: changes within one second differ in it.
    const lastModifiedMs = Math.min(clock.wallMs(), cached.changedAtMs);
    const ofContent = Object.entries({
      'Content-Type': JSON_TYPE,
      ...(encoding !== 'identity' && { 'Content-Encoding': encoding }),
      'Content-Length': String(body.length),
      'Last-Modified': new Date(lastModifiedMs).toUTCString(),
    }).flat();
    const always = Object.entries({
      ETag: etag,
      'Cache-Control': cacheControl(freshForMs, cachePolicy),
      'Cache-Status': cacheStatus(freshForMs, failureKind),
    }).flat();
    // Vary comes first: it replaces the one that app.ts has set for every response, and stays in
    // its place.
    return {
      200: { status: 200, headers: ['Vary', vary, ...ofContent, ...always], body, listState },
      // RFC 9110 section 15.4.5: without what describes the absent content.
      304: { status: 304, headers: ['Vary', vary, ...always], body: NO_BODY, listState },
    };
  };

  let current: Prepared | undefined;
  /** Makes all responses of this second, unless they are made. */
  const prepare = (served: ServedList): Prepared => {
    const { list: cached, freshForMs } = served;
    const ttl = toWholeSeconds(freshForMs);
    const failureKind = freshForMs < 0 ? list.status().failing?.error.kind : undefined;
    if (current?.list === cached && current.ttl === ttl && current.failureKind === failureKind)
      return current;
    const { identity, gzip, br } = cached.representations;
    const answers = {
      identity: makeAnswers(identity, served, failureKind),
      gzip: makeAnswers(gzip, served, failureKind),
      br: makeAnswers(br, served, failureKind),
    };
    return (current = { list: cached, ttl, failureKind, answers });
  };

  return (headers, served) => {
    const { answers } = prepare(served);
    const { representations, changedAtMs } = served.list;
    const encoding = negotiate(headers['accept-encoding']);
    const { etag } = representations[encoding];
    const status = evaluatePreconditions(headers, { etag, lastModifiedMs: changedAtMs });
    return status === 412 ? 'precondition_failed' : answers[encoding][status];
  };
};

/**
 * `Cache-Control` of a list that is fresh for another `freshForMs` (negative: stale). No cache that
 * obeys it shows a list older than TTL + max stale: `max-age` ends with the freshness, and what may
 * be added to it (RFC 5861) ends when this service would refuse. `stale-while-revalidate` is at
 * most as long as `max-age` can be, so that no browser shows a replaced list for longer than twice
 * BROWSER_MAX_AGE; `stale-if-error` is for the outage and takes all that is left.
 */
const cacheControl = (freshForMs: number, policy: CachePolicy): string => {
  const maxAge = toWholeSeconds(Math.max(0, Math.min(policy.browserMaxAgeMs, freshForMs)));
  const leftMs = Math.max(0, policy.maxStaleMs + Math.min(0, freshForMs));
  const whileRevalidate = toWholeSeconds(Math.min(policy.ttlMs, policy.browserMaxAgeMs, leftMs));
  return `public, max-age=${maxAge}, stale-while-revalidate=${whileRevalidate}, stale-if-error=${toWholeSeconds(leftMs)}`;
};

/**
 * `Cache-Status` (RFC 9211). The detail of a stale list is the kind of the failure that no success
 * has followed.
 */
const cacheStatus = (freshForMs: number, failureKind: string | undefined): string => {
  const detail = freshForMs < 0 ? `; detail=${failureKind ?? 'renewing'}` : '';
  return `banks-bff; hit; ttl=${toWholeSeconds(freshForMs)}${detail}`;
};

/** Rounded down: a promise about the future must not be longer than the truth. */
const toWholeSeconds = (ms: number): number => Math.floor(ms / 1_000);

/**
 * Browsers and tools send about a dozen different values, none longer than 60 characters; a client
 * can invent others. V8 may keep the whole text of a request, at most 8 KiB, for one of them.
 */
const MAX_REMEMBERED = 200;
const MAX_LENGTH = 100;

/**
 * Gives the content encoding with the highest weight (RFC 9110 section 12.5.3), the one with the
 * smallest body among equals, remembered by the header's text. If nothing fits, and for
 * `identity;q=0`, the header is ignored as section 12.4.1 allows, and the response is identity: a
 * list that the client may be able to read is worth more than a 406. A request without the header
 * gets identity too: it would accept anything, but clients that do not send it do not decode
 * either. A header of more than MAX_LENGTH gets identity too: each coding costs time, and a client
 * could send thousands.
 */
const createNegotiate = (): ((acceptEncoding: string | undefined) => Encoding) => {
  const encodings = new LRUCache<string, Encoding>({ max: MAX_REMEMBERED });
  return (acceptEncoding) => {
    if (!acceptEncoding || acceptEncoding.length > MAX_LENGTH) return 'identity';
    const remembered = encodings.get(acceptEncoding);
    if (remembered) return remembered;
    const negotiator = new Negotiator({ headers: { 'accept-encoding': acceptEncoding } });
    const encoding = negotiator.encoding(ENCODINGS, { preferred: ENCODINGS }) ?? 'identity';
    encodings.set(acceptEncoding, encoding);
    return encoding;
  };
};
