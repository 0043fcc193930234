// Why a list could not be loaded: closed kinds, so that every consumer's table is checked for completeness.

export const LOAD_ERROR_KINDS = [
  /** No connection: refused, unknown host, TLS failure, or lost before an answer began. */
  'unreachable',
  /** The proxy in HTTPS_PROXY or HTTP_PROXY: no connection to it, or it opened no tunnel in time. */
  'proxy_unreachable',
  /** The proxy answered that it does not let this request through: 407, 403 or another 4xx. */
  'proxy_refused',
  /** No complete answer inside PROVIDER_TIMEOUT. */
  'timeout',
  /** 429. */
  'rate_limited',
  /** 5xx. */
  'unavailable',
  /** 401: the provider does not accept the token. */
  'unauthorized',
  /** There is no token to send: its file cannot be read, or the token endpoint gives none. */
  'no_token',
  /** 403, 404, another 4xx, a redirect, or a success other than 200. */
  'unexpected_status',
  /** Not JSON, not UTF-8, cut short, labelled as something else, or nested too deep. */
  'malformed',
  /** JSON, but not a list. */
  'not_a_list',
  /** More than PROVIDER_MAX_BODY, received or published, or more entries than any list has. */
  'too_large',
  /** Fewer entries than GUARD_MIN_BANKS. */
  'too_few',
  /** The share of unusable entries is above GUARD_MAX_SHRINK. */
  'unusable_entries',
  /** No entry has a field of BANK_FIELDS that is not optional, and no list is cached to compare with. */
  'missing_field',
  /** The list lost more than GUARD_MAX_SHRINK of the cached one's entries, or of the largest one's of the last days. */
  'shrunk',
  /** More than GUARD_MAX_DRIFT of the entries lost a published field, or changed its JSON type. */
  'drifted',
  /** A defect of this service: anything thrown that is none of the above. */
  'internal',
] as const;

export type LoadErrorKind = (typeof LOAD_ERROR_KINDS)[number];

/**
 * A load failed. `message` is for operators' logs: words of this service only, never the provider's text, an
 * address or a token. It is not an error of the request that happened to wait for the load.
 */
export class LoadError extends Error {
  override readonly name = 'LoadError';
  readonly kind: LoadErrorKind;
  /** How long the provider asked to be left alone (`Retry-After`), in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** The status of the provider's answer, where the status is what was wrong with it. */
  readonly upstreamStatus?: number | undefined;
  /** Why there was no answer, as Node, OpenSSL or undici name it, such as ECONNREFUSED; undefined: for another reason. */
  readonly reasonCode?: string | undefined;
  /** The published fields that are what was wrong. */
  readonly fields: readonly string[] = [];

  constructor(kind: LoadErrorKind, message: string, { cause, ...details }: LoadErrorDetails = {}) {
    super(message, { cause });
    this.kind = kind;
    Object.assign(this, details);
  }

  static from(error: unknown): LoadError {
    if (error instanceof LoadError) return error;
    return new LoadError('internal', 'unexpected error while loading', {
      cause: error,
    });
  }
}

type LoadErrorDetails = ErrorOptions &
  Partial<Pick<LoadError, 'retryAfterMs' | 'upstreamStatus' | 'reasonCode' | 'fields'>>;
