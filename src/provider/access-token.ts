import { readFile } from 'node:fs/promises';
import { LoadError } from '../banks/load-error.ts';
import { isBearerToken, type TokenSource } from '../config.ts';

// Where the access token comes from. It is handed to the one request that needs it and kept nowhere else.

/** Gives the token to use now. @throws {LoadError} `no_token` when there is none */
export type AccessToken = () => Promise<string>;

export const createAccessToken = (source: TokenSource): AccessToken => {
  switch (source.kind) {
    case 'fixed':
      return () => Promise.resolve(source.token.reveal());
    case 'file':
      return fromFile(source.path);
    case 'client-credentials':
      throw new TypeError('client-credentials has no effect in this version');
  }
};

/**
 * Reads the file at each use, which is once per exchange: a rotated file and a swapped symbolic link need no watcher.
 * While the file is missing, empty or half written, as in the middle of a swap, the last good token stays in use.
 */
const fromFile = (path: string): AccessToken => {
  let last: string | undefined;
  return async () => {
    const text = await readFile(path, 'utf8').catch(() => '');
    const token = text.trim();
    if (isBearerToken(token)) last = token;
    if (last === undefined)
      throw new LoadError('no_token', 'PROVIDER_ACCESS_TOKEN_FILE holds no usable token');
    return last;
  };
};
