import { codeOf } from '../errors.ts';
import { describeStoreFailure } from './store-report.ts';

// What went wrong with Redis, in our words, with the code of Redis, Node or OpenSSL. Their messages
// are never repeated: they may quote the address, the user or a command.

/** For example `refuses the user or the password (WRONGPASS)`. */
export const reasonOf = (error: unknown): string => {
  const code = codeOf(error) || replyCodeOf(error);
  const reason = `${REASONS[code] ?? 'cannot be used'} (${code || 'connection lost'})`;
  return describeStoreFailure(error, reason);
};

const REASONS: Readonly<Record<string, string>> = {
  WRONGPASS: 'refuses the user or the password',
  NOAUTH: 'requires a password',
  NOPERM:
    'does not let this user run what is needed: ~banks-bff:* +eval +time +getrange +pttl +set +hello +client +cluster, and +select for a database by number',
  WRONGTYPE: 'has something else under the names that begin with banks-bff:',
  OOM: 'is full',
  MAXCLIENTS: 'has no connection left; raise its maxclients',
  READONLY: 'is read-only',
  MASTERDOWN: 'is failing over',
  LOADING: 'is loading its data',
  ERR: 'refuses a command',
  ECONNREFUSED: 'refuses the connection',
  ENOTFOUND: 'has an unknown host name',
};

/**
 * Redis starts an error reply with a code in capitals, such as `WRONGPASS invalid username-password
 * pair`. Of a script, Redis 6 writes it further on, and no version gives missing rights a code.
 */
const replyCodeOf = (error: unknown): string => {
  if (!(error instanceof Error)) return '';
  const [, code = ''] = /^([A-Z]{2,20})\b/.exec(error.message) ?? [];
  if (code !== 'ERR') return code;
  if (/max number of clients/.test(error.message)) return 'MAXCLIENTS';
  const [inScript] = /\b(?:OOM|READONLY|WRONGTYPE)\b/.exec(error.message) ?? [];
  const isDenied = /ACL failure|can't (?:run this command|access at least one)/.test(error.message);
  return inScript ?? (isDenied ? 'NOPERM' : code);
};
