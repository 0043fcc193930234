import { codeOf } from '../error-code.ts';
import { StoreError } from './list-store.ts';

// What went wrong with Redis, in our words, with the code of Redis, Node or OpenSSL. Their messages are never repeated:
// they may quote the address, the user or a command.

export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
}

/** For example `refuses the user or the password (WRONGPASS); the service continues without it`. */
export const describeRedisError = (error: unknown): string => {
  if (error instanceof DeadlineError) return `does not answer in time; ${CONSEQUENCE}`;
  if (error instanceof StoreError) return `cannot be used: ${error.message}; ${CONSEQUENCE}`;
  if (isWrongType(error)) return 'does not contain a saved list; ignored';
  const code = codeOf(error) || replyCodeOf(error);
  return `${REASONS[code] ?? 'cannot be used'} (${code || 'connection lost'}); ${CONSEQUENCE}`;
};

const CONSEQUENCE = 'the service continues without it';

const REASONS: Readonly<Record<string, string>> = {
  WRONGPASS: 'refuses the user or the password',
  NOAUTH: 'requires a password',
  NOPERM: 'denies this user a command that is needed',
  OOM: 'is full',
  READONLY: 'is read-only',
  MASTERDOWN: 'is failing over',
  LOADING: 'is loading its data',
  ECONNREFUSED: 'refuses the connection',
  ENOTFOUND: 'has an unknown host name',
};

/** Redis starts an error reply with a code in capitals, such as `WRONGPASS invalid username-password pair`. */
const replyCodeOf = (error: unknown): string =>
  error instanceof Error ? (/^([A-Z]{2,20})\b/.exec(error.message)?.[1] ?? '') : '';

/** Whether there is a value of another type under a key: a fault of the data, not of the connection. */
export const isWrongType = (error: unknown): boolean => replyCodeOf(error) === 'WRONGTYPE';
