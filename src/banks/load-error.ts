import { FAILURE_KINDS } from '../failure-kinds.ts';

// Why a list could not be loaded: one of the kinds of failure-kinds.ts, and what is known of this
// case.

export type LoadErrorKind = keyof typeof FAILURE_KINDS;

export const isLoadErrorKind = (value: unknown): value is LoadErrorKind =>
  typeof value === 'string' && Object.hasOwn(FAILURE_KINDS, value);

export const LOAD_ERROR_KINDS: readonly LoadErrorKind[] =
  Object.keys(FAILURE_KINDS).filter(isLoadErrorKind);

/**
 * A load failed. `message` is for operators' logs: words of this service only, never the provider's
 * text, an address or a token.
 */
export class LoadError extends Error {
  override readonly name = 'LoadError';
  readonly kind: LoadErrorKind;
  /** How long the provider asked to be left alone (`Retry-After`), in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** The status of the provider's response, where the status is what was wrong with it. */
  readonly upstreamStatus?: number | undefined;
  /** The published fields that are what was wrong. */
  readonly fields: readonly string[] = [];

  constructor(kind: LoadErrorKind, message: string, { cause, ...details }: LoadErrorDetails = {}) {
    super(message, { cause });
    this.kind = kind;
    Object.assign(this, details);
  }

  /** It says nothing of the provider: a file of this replica, or this program, is its cause. */
  get isLocal(): boolean {
    return this.kind === 'internal' || this.kind === 'unusable_file';
  }

  static from(error: unknown): LoadError {
    if (error instanceof LoadError) return error;
    return new LoadError('internal', 'unexpected error while loading', {
      cause: error,
    });
  }
}

/**
 * Ends everything that is under way when the service stops. It is no failure of the provider, and
 * its kind is shown to nobody: the public port has closed before, and the management port answers
 * with `draining`.
 */
export const STOPPING = new LoadError('unreachable', 'the service is stopping');

type LoadErrorDetails = ErrorOptions &
  Partial<Pick<LoadError, 'retryAfterMs' | 'upstreamStatus' | 'fields'>>;
