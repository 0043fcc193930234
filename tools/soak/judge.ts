import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import type { Provider } from './provider.ts';
import type { Troubles } from './troubles.ts';

// What the service promises of an answer, given what the provider had and did at that time.

export interface Answer {
  /** Whether it is from the replica that is stopped and killed now and then. */
  readonly isStruck: boolean;
  readonly path: string;
  readonly sentMs: number;
  readonly receivedMs: number;
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

export const TTL_MS = 4_000;
export const MAX_STALE_MS = 20_000;
export const TIMEOUT_MS = 1_500;
/** After this without trouble, a list is fresh: the longest back-off, and what a dead replica delays. */
export const RECOVERY_MS = TTL_MS + TIMEOUT_MS + 3_000;

export type Judge = ReturnType<typeof createJudge>;

export const createJudge = (provider: Provider, troubles: Troubles) => {
  /** The content of each ETag, which must never be another one. */
  const contents = new Map<string, string>();

  /** Whether there may be no list to serve. */
  const mayLackList = ({ sentMs, receivedMs }: Answer): boolean => {
    const leftMs = TTL_MS + MAX_STALE_MS - RECOVERY_MS - troubles.slackMs();
    return receivedMs - provider.lastGoodMs(sentMs - TIMEOUT_MS) > leftMs;
  };

  const judgeError = (answer: Answer): string | undefined => {
    if (answer.headers['content-type'] !== 'application/problem+json')
      return 'an error that is not application/problem+json';
    if (answer.headers['cache-control'] !== 'no-store') return 'an error that may be stored';
    if (answer.status < 500) return undefined;
    if (![502, 503, 504].includes(answer.status)) return 'an internal error';
    return mayLackList(answer) ? undefined : 'an error although a list can be served';
  };

  const judgeList = (answer: Answer): string | undefined => {
    const { headers, body, status, sentMs, receivedMs } = answer;
    const coding = String(headers['content-encoding'] ?? 'identity');
    const etag = String(headers['etag']);
    const isEmpty = status === 304 || body.length === 0;
    if (!isEmpty && Number(headers['content-length']) !== body.length) return 'a wrong length';
    const json = isEmpty ? contents.get(etag) : (DECODERS[coding]?.(body) ?? body).toString();
    // HEAD of a list that nobody has got yet.
    if (json === undefined) return status === 304 ? '304 for an ETag that no list had' : undefined;
    if ((contents.get(etag) ?? json) !== json) return 'one ETag for two contents';
    contents.set(etag, json);

    const version = provider.versionOf(json);
    if (!version) return 'a list that the provider never had';
    if (version.isRefused) return 'a list that the guard must refuse';
    const [, seconds] = /^banks-bff; .*\bttl=(-?\d+)/.exec(String(headers['cache-status'])) ?? [];
    if (seconds === undefined) return 'no ttl in Cache-Status';
    const ttlMs = Number(seconds) * 1_000;
    const slackMs = troubles.slackMs();
    if (ttlMs > TTL_MS) return 'a list that is fresh for longer than CACHE_TTL';
    if (ttlMs < -MAX_STALE_MS - 1_000) return 'a list that is too old to be served';
    // The provider was asked between these; then it had this list.
    const fromMs = sentMs - TTL_MS + ttlMs - slackMs;
    const untilMs = receivedMs - TTL_MS + ttlMs + TIMEOUT_MS + slackMs;
    if (version.fromMs > untilMs || version.untilMs < fromMs)
      return `a list that the provider did not have ${(TTL_MS - ttlMs) / 1_000} s ago`;
    const quietSinceMs = sentMs - RECOVERY_MS - slackMs;
    const mayBeStale = troubles.between(quietSinceMs, receivedMs, 'provider', 'redis', 'struck');
    return ttlMs < -TIMEOUT_MS - slackMs && !mayBeStale
      ? `a list that is ${-ttlMs / 1_000} s stale although nothing is wrong`
      : undefined;
  };

  return {
    mayLackList,
    /** Whether the replica was stopped or dead at some time of this exchange. */
    mayBeLost: ({ isStruck, sentMs }: Pick<Answer, 'isStruck' | 'sentMs'>): boolean =>
      isStruck && troubles.between(sentMs - 500, performance.now(), 'struck'),
    /** What is wrong with an answer of the public port; undefined: nothing. */
    judge: (answer: Answer): string | undefined => {
      const { path, status, headers, sentMs, receivedMs, isStruck } = answer;
      const wasStopped = isStruck && troubles.between(sentMs - 500, receivedMs, 'struck');
      if (receivedMs - sentMs > TIMEOUT_MS + troubles.slackMs() && !wasStopped)
        return `an answer after ${Math.round(receivedMs - sentMs)} ms`;
      if (!headers['x-request-id']) return 'no X-Request-Id';
      if (status >= 400) return judgeError(answer);
      return path === '/banks' && status !== 204 ? judgeList(answer) : undefined;
    },
    /** ETags that were served lately. */
    etags: (): string[] => [...contents.keys()].slice(-6),
  };
};

const DECODERS: Readonly<Record<string, (body: Buffer) => Buffer>> = {
  br: brotliDecompressSync,
  gzip: gunzipSync,
};
