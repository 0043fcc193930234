import * as zlib from 'node:zlib';
import type { Lateness } from './lateness.ts';
import {
  BROWSER_MAX_AGE_S,
  MAX_STALE_MS,
  MAX_STALE_S,
  TIMEOUT_MS,
  TTL_MS,
  TTL_S,
} from './policy.ts';
import type { Provider, Version } from './provider.ts';

// What the contract allows: checks each response by what the provider had and did at the time.

export interface Answer {
  readonly status: number;
  header(name: string): string | undefined;
  /** Empty for HEAD. */
  readonly body: Buffer;
}

export interface When {
  readonly sentMs: number;
  readonly receivedMs: number;
}

export type Oracle = ReturnType<typeof createOracle>;

/** A list is read, checked and encoded before it is served. */
const PREPARING_MS = 500;

/** Without a list, requests wait for the provider. */
const LONGEST_ANSWER_MS = TIMEOUT_MS + 1_000;

/**
 * A connection that the flooded kernel drops is tried again after 1, 3 and 7 s (RFC 6298, section
 * 2).
 */
const RECONNECTING_MS = 7_000;

const TIMEOUTS = ['hang', 'stall', 'drip'];
const OUTAGES = ['refuse', 'reset', 'rate-limited', 'server-error', 'unavailable'];
/** Their size may take longer than the time that a load has. */
const LARGE = ['too-large', 'gzip-bomb', 'brotli-bomb'];

/** The codes of the answers without a list, by what the provider did. */
const codesOf = (trouble: string): readonly string[] => {
  if (trouble === 'token')
    return ['provider_invalid_answer', 'provider_timeout', 'provider_unavailable'];
  if (TIMEOUTS.includes(trouble)) return ['provider_timeout'];
  if (OUTAGES.includes(trouble)) return ['provider_unavailable'];
  if (LARGE.includes(trouble)) return ['provider_invalid_answer', 'provider_timeout'];
  return ['provider_invalid_answer'];
};

const STATUS_OF: Readonly<Record<string, number>> = {
  bad_request: 400,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  precondition_failed: 412,
  uri_too_long: 414,
  expectation_failed: 417,
  headers_too_large: 431,
  provider_invalid_answer: 502,
  provider_unavailable: 503,
  not_ready: 503,
  too_many_connections: 503,
  overloaded: 503,
  provider_timeout: 504,
};

interface Served {
  readonly version: Version;
  readonly encoding: string;
  readonly body: Buffer;
  lastMs: number;
}

export const createOracle = (provider: Provider, lateness: Lateness) => {
  const byEtag = new Map<string, Served>();
  const redis = createPeriods();
  const floods = createPeriods();
  const isFlooded = (when: When): boolean => floods.includes(when, lateness.slackMs());

  /** Whether it may be that there was no list to serve at some time of the exchange. */
  const mayLackList = ({ sentMs, receivedMs }: When): boolean => {
    const lastGoodAtMs = provider.lastGoodAtMs(sentMs - PREPARING_MS - lateness.slackMs());
    return receivedMs - lastGoodAtMs > TTL_MS + MAX_STALE_MS - lateness.slackMs();
  };

  const checkProblem = (answer: Answer, when: When): string | undefined => {
    if (answer.header('content-type') !== 'application/problem+json')
      return 'an error that is not problem+json';
    if (answer.header('cache-control') !== 'no-store') return 'an error that may be stored';
    // HEAD, which has no code.
    if (answer.body.length === 0) {
      const isAllowed = answer.status < 500 || mayLackList(when) || isFlooded(when);
      return isAllowed ? undefined : `${answer.status} although a list may be served`;
    }
    const { code, status }: { code: string; status: number } = JSON.parse(answer.body.toString());
    if (STATUS_OF[code] !== answer.status || status !== answer.status)
      return `code ${code} with status ${answer.status}`;
    if (answer.status < 500) return undefined;
    if (code === 'too_many_connections')
      return isFlooded(when) ? undefined : 'too_many_connections without a flood';
    if (!mayLackList(when)) return `${code} although a list may be served`;
    if (code === 'not_ready') return undefined;
    if (!/^[1-9]\d*$/.test(answer.header('retry-after') ?? ''))
      return `${code} without Retry-After`;
    const troubles = provider.troubles(when.sentMs, when.receivedMs);
    return troubles.flatMap(codesOf).includes(code)
      ? undefined
      : `${code} after ${troubles.join() || 'nothing'}`;
  };

  const servedAs = (answer: Answer, etag: string): Served | string => {
    const known = byEtag.get(etag);
    const encoding = answer.header('content-encoding') ?? 'identity';
    if (answer.status === 304 || answer.body.length === 0)
      return known ?? 'an ETag that no list had';
    if (Number(answer.header('content-length')) !== answer.body.length)
      return 'a wrong Content-Length';
    if (known) {
      if (known.encoding !== encoding) return 'one ETag for two encodings';
      return known.body.equals(answer.body) ? known : 'one ETag for two bodies';
    }
    const version = provider.versionOf(DECODERS[encoding]?.(answer.body) ?? answer.body);
    if (!version) return 'a list that the provider never had';
    const served = { version, encoding, body: answer.body, lastMs: 0 };
    byEtag.set(etag, served);
    return served;
  };

  const checkList = (answer: Answer, etag: string, when: When): string | undefined => {
    const served = servedAs(answer, etag);
    if (typeof served === 'string') {
      // HEAD, for a list that nobody has got yet.
      return answer.status === 200 && answer.body.length === 0 ? undefined : served;
    }
    served.lastMs = when.receivedMs;
    if (served.version.isRefused)
      return `the ${served.version.json.length} bytes that the guard must refuse`;
    if (answer.header('vary') !== 'Accept-Encoding, Origin')
      return `Vary: ${answer.header('vary')}`;
    return checkAge(answer, served.version, when);
  };

  const checkAge = (answer: Answer, version: Version, when: When): string | undefined => {
    const [, seconds, detail] =
      /^banks-bff; (?:hit|fwd=miss(?:; collapsed)?); ttl=(-?\d+)(; detail=[a-z_]+)?$/.exec(
        answer.header('cache-status') ?? '',
      ) ?? [];
    const ttl = Number(seconds);
    if (seconds === undefined || (detail !== undefined) !== ttl < 0)
      return `Cache-Status: ${answer.header('cache-status')}`;
    const left = Math.max(0, MAX_STALE_S + Math.min(0, ttl));
    const expected =
      `public, max-age=${Math.max(0, Math.min(BROWSER_MAX_AGE_S, ttl))}, ` +
      `stale-while-revalidate=${Math.min(TTL_S, BROWSER_MAX_AGE_S, left)}, stale-if-error=${left}`;
    if (answer.header('cache-control') !== expected)
      return `Cache-Control: ${answer.header('cache-control')}, not ${expected}`;
    // ttl is rounded down: the list was received in this period, and the provider must have sent it
    // then.
    const fromMs = when.sentMs - TTL_MS + ttl * 1_000 - lateness.slackMs();
    const untilMs = when.receivedMs - TTL_MS + (ttl + 1) * 1_000 + lateness.slackMs();
    const isTrue = provider.provisions.some(
      ({ atMs, versions }) => atMs >= fromMs && atMs <= untilMs && versions.includes(version),
    );
    if (!isTrue) return `ttl=${ttl}: the provider did not send this list then`;
    if (ttl < -MAX_STALE_S - 1) return `ttl=${ttl}: too old to be served`;
    const isSettled = when.sentMs > provider.settledAtMs();
    const lateMs =
      TIMEOUT_MS + lateness.slackMs() + (redis.includes(when, 10_000) ? 3 * TIMEOUT_MS : 0);
    return isSettled && ttl < -Math.ceil(lateMs / 1_000)
      ? `ttl=${ttl} although the provider is well`
      : undefined;
  };

  return {
    mayLackList,
    /** What is wrong with an answer of the public port, whatever was asked; undefined: nothing. */
    check: (answer: Answer, when: When): string | undefined => {
      const tookMs = when.receivedMs - when.sentMs;
      const connectingMs = isFlooded(when) ? RECONNECTING_MS : 0;
      if (tookMs > LONGEST_ANSWER_MS + connectingMs + lateness.slackMs())
        return `answered after ${tookMs.toFixed(0)} ms`;
      if (answer.header('x-content-type-options') !== 'nosniff') return 'no X-Content-Type-Options';
      if (!answer.header('x-request-id')) return 'no X-Request-Id';
      if (answer.status >= 400) return checkProblem(answer, when);
      const etag = answer.header('etag');
      return etag === undefined ? undefined : checkList(answer, etag, when);
    },
    /** The ETags of all lists that were served lately. */
    etags: (): string[] => {
      for (const [etag, { lastMs }] of byEtag)
        if (lastMs < performance.now() - 60_000) byEtag.delete(etag);
      return [...byEtag.keys()];
    },
    /** Redis is in trouble until the function that it gives back is called. */
    troubleRedis: redis.begin,
    /** Connections over capacity may be refused until the function that it gives back is called. */
    flood: floods.begin,
    isFlooded,
  };
};

/** Times at which something was the case. */
const createPeriods = () => {
  const periods: { readonly fromMs: number; untilMs: number }[] = [];
  return {
    begin: (): (() => void) => {
      const period = { fromMs: performance.now(), untilMs: Infinity };
      periods.push(period);
      if (periods.length > 20) periods.shift();
      return () => (period.untilMs = performance.now());
    },
    includes: ({ sentMs, receivedMs }: When, marginMs: number): boolean =>
      periods.some(({ fromMs, untilMs }) => fromMs <= receivedMs && untilMs + marginMs >= sentMs),
  };
};

const DECODERS: Readonly<Record<string, (body: Buffer) => Buffer>> = {
  br: zlib.brotliDecompressSync,
  gzip: zlib.gunzipSync,
};
