import type { IncomingHttpHeaders } from 'node:http';
import { LRUCache } from 'lru-cache';
import Negotiator from 'negotiator';
import type { BankList } from '../../banks/bank-list.ts';
import type { CachedList, ServedList } from '../../banks/cached-list.ts';
import type { FreshnessPolicy } from '../../banks/freshness.ts';
import { ENCODINGS, type Encoding, type Representation } from '../../banks/representation.ts';
import { notAfter, toDate, type Clock } from '../../clock.ts';
import { JSON_TYPE, type FlatHeaders } from '../headers.ts';
import { evaluatePreconditions, type Validators } from './preconditions.ts';

// The successful responses of /banks, ready to be sent, with their caching headers: how long
// browsers may use a list without asking, and how fresh it is. They are made once per list and
// second; a request only chooses one.

/** The two successful responses in one encoding. */
interface BanksResponse {
  readonly body: Buffer;
  readonly validators: Validators;
  readonly headers: FlatHeaders;
  /**
   * Those of the 200 that RFC 9110 section 15.4.5 asks for; what describes the absent content stays
   * out.
   */
  readonly notModifiedHeaders: FlatHeaders;
  /** The state of the list that is served. */
  readonly listState: 'fresh' | 'stale';
}

/**
 * Gives the response in the encoding that the client prefers, and the status that results from the
 * client's conditions. The response is the same object as long as nothing in it has changed.
 */
export type ChooseResponse = (
  headers: IncomingHttpHeaders,
  served: ServedList,
  found?: Found,
) => {
  readonly response: BanksResponse;
  readonly status: ReturnType<typeof evaluatePreconditions>;
};

interface ChooseResponseOptions {
  readonly list: Pick<BankList, 'status'>;
  readonly cachePolicy: CachePolicy;
  /** Whether responses differ by origin (see cors.ts). */
  readonly variesByOrigin: boolean;
  readonly clock: Pick<Clock, 'wallMs'>;
}

export const createResponseChooser = (options: ChooseResponseOptions): ChooseResponse => {
  const { list, cachePolicy, variesByOrigin, clock } = options;
  const negotiate = createNegotiate();
  const vary = variesByOrigin ? 'Accept-Encoding, Origin' : 'Accept-Encoding';
  let newest: Prepared | undefined;

  const prepare = (served: ServedList, found: Found): Prepared => {
    const ttl = Math.floor(served.freshForMs / 1_000);
    const failureKind = served.freshForMs < 0 ? list.status().failure?.kind : undefined;
    const isSame =
      newest?.list === served.list && newest.ttl === ttl && newest.failureKind === failureKind;
    if (newest && isSame && newest.found === found) return newest;
    const changing = [
      'Cache-Control',
      cacheControl(served.freshForMs, cachePolicy),
      'Cache-Status',
      cacheStatus(served.freshForMs, failureKind, found),
    ];
    return (newest = {
      list: served.list,
      ttl,
      failureKind,
      found,
      changing,
      responses: new Map(),
    });
  };

  return (headers, served, found = 'hit') => {
    const { changing, responses } = prepare(served, found);
    const { representations, changedAtMs } = served.list;
    const encoding = negotiate(headers['accept-encoding']);
    const representation = (encoding && representations[encoding]) ?? representations.identity;
    let response = responses.get(representation);
    if (!response) {
      const listState = served.freshForMs < 0 ? 'stale' : 'fresh';
      // RFC 9110 section 8.8.2.1: never later than Date. Conditions compare the time that is never
      // clamped: changes within one second differ in it.
      const lastModified = toDate(notAfter(clock.wallMs(), changedAtMs)).toUTCString();
      const validators = { etag: representation.etag, lastModifiedMs: changedAtMs };
      const prepared = prepareResponse(representation, lastModified, vary, changing);
      response = { ...prepared, validators, listState };
      responses.set(representation, response);
    }
    return { response, status: evaluatePreconditions(headers, response.validators) };
  };
};

/** The responses, and all that they depend on. */
interface Prepared {
  readonly list: CachedList;
  readonly ttl: number;
  readonly failureKind: string | undefined;
  readonly found: Found;
  /** The headers that change from one second to the next. */
  readonly changing: FlatHeaders;
  readonly responses: Map<Representation, BanksResponse>;
}

const prepareResponse = (
  { encoding, body, etag }: Representation,
  lastModified: string,
  vary: string,
  changing: FlatHeaders,
): Omit<BanksResponse, 'listState' | 'validators'> => {
  const validating = ['ETag', etag, ...changing];
  return {
    body,
    // Vary comes first: it replaces the one that app.ts has set for every response, and stays in
    // its place.
    notModifiedHeaders: ['Vary', vary, ...validating],
    headers: [
      'Vary',
      vary,
      'Content-Type',
      JSON_TYPE,
      ...(encoding === 'identity' ? [] : ['Content-Encoding', encoding]),
      'Content-Length',
      String(body.length),
      'Last-Modified',
      lastModified,
      ...validating,
    ],
  };
};

type CachePolicy = FreshnessPolicy & { readonly browserMaxAgeMs: number };

/**
 * `Cache-Control` of a list that is fresh for another `freshForMs` (negative: stale). No cache that
 * obeys it shows a list older than TTL + max stale: `max-age` ends with the freshness, and what may
 * be added to it (RFC 5861) ends when this service would refuse. `stale-while-revalidate` is at
 * most as long as `max-age` can be, so that no browser shows a replaced list for longer than twice
 * BROWSER_MAX_AGE; `stale-if-error` is for the outage and takes all that is left.
 */
export const cacheControl = (freshForMs: number, policy: CachePolicy): string => {
  const maxAge = toWholeSeconds(Math.max(0, Math.min(policy.browserMaxAgeMs, freshForMs)));
  const leftMs = Math.max(0, policy.maxStaleMs + Math.min(0, freshForMs));
  const whileRevalidate = toWholeSeconds(Math.min(policy.ttlMs, policy.browserMaxAgeMs, leftMs));
  return `public, max-age=${maxAge}, stale-while-revalidate=${whileRevalidate}, stale-if-error=${toWholeSeconds(leftMs)}`;
};

/**
 * How a request came to the list: it was there, or the request waited for a load, its own or one
 * that it shared.
 */
export type Found = 'hit' | 'miss' | 'collapsed';

/**
 * `Cache-Status` (RFC 9211). The detail of a stale list is the kind of the failure that no success
 * has followed.
 */
export const cacheStatus = (
  freshForMs: number,
  failureKind: string | undefined,
  found: Found,
): string => {
  const detail = freshForMs < 0 ? `; detail=${failureKind ?? 'renewing'}` : '';
  return `banks-bff; ${FOUND_MEMBERS[found]}; ttl=${toWholeSeconds(freshForMs)}${detail}`;
};

const FOUND_MEMBERS = { hit: 'hit', miss: 'fwd=miss', collapsed: 'fwd=miss; collapsed' } as const;

/** Rounded down: a promise about the future must not be longer than the truth. */
const toWholeSeconds = (ms: number): number => Math.floor(ms / 1_000);

/**
 * Gives the content encoding with the highest weight (RFC 9110 section 12.5.3), the one with the
 * smallest body among equals, remembered by the header's text. If nothing fits, and for
 * `identity;q=0`, the header is ignored as section 12.4.1 allows, and the response is identity: a
 * list that the client may be able to read is worth more than a 406. A request without the header
 * gets identity too: it would accept anything, but clients that do not send it do not decode
 * either. So does one with a header that no client sends: what each coding in it costs, a client
 * could multiply.
 */
const createNegotiate = (): ((acceptEncoding: string | undefined) => Encoding | undefined) => {
  const encodings = new LRUCache<string, Encoding>({ max: MAX_REMEMBERED });
  return (acceptEncoding) => {
    if (!acceptEncoding || acceptEncoding.length > MAX_LENGTH) return undefined;
    const remembered = encodings.get(acceptEncoding);
    if (remembered) return remembered;
    if (acceptEncoding.split(',', MAX_CODINGS + 1).length > MAX_CODINGS) return undefined;
    // The alias of RFC 9110 section 8.4.1.3.
    const accepted = acceptEncoding.replaceAll(/\bx-gzip\b/gi, 'gzip');
    const negotiator = new Negotiator({ headers: { 'accept-encoding': accepted } });
    const encoding = negotiator.encoding(ENCODINGS, { preferred: ENCODINGS });
    encodings.set(acceptEncoding, encoding);
    return encoding;
  };
};

/**
 * Browsers and tools send about a dozen different values, none longer than 60 characters or with
 * more than five codings; a client can invent others. V8 may keep the whole text of a request, at
 * most 8 KiB, for one of them.
 */
const MAX_REMEMBERED = 200;
const MAX_LENGTH = 200;
const MAX_CODINGS = 16;
