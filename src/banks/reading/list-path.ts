import { LoadError } from '../load-error.ts';
import { isJsonObject, MAX_PATH_DEPTH, parseJson } from '../../json.ts';
import { valueAt } from './entry.ts';
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  endOfString,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from './json-bytes.ts';

// A list inside another value: `{"data": {"banks": [ … ]}}`, at the path that BANK_LIST gives. The
// list is found in the bytes, so that only what is around it is parsed in one go; that it is the
// one at the path, and that all is JSON, is checked once the list has been read.

/** The worst JSON of this size takes some 30 ms to parse. */
const MAX_AROUND_BYTES = 64 * 1024;

/**
 * The offset of the bracket that opens the list at `path`.
 * @param start of the value in `json`, after a byte order mark
 * @throws {LoadError} `malformed`, `not_a_list` or `too_large`
 */
export const findList = (json: Buffer, start: number, path: string): number => {
  if (json[start] === OPEN_BRACKET) throw listItself(path);
  const limit = Math.min(json.length, start + MAX_AROUND_BYTES);
  /** The members that lead to here; undefined stands for an array, in which no path leads on. */
  const names: (string | undefined)[] = [];
  let isName = false;
  for (let index = start; index < limit; index += 1) {
    const byte = json[index];
    if (byte === QUOTE) {
      const end = endOfString(json, index, limit);
      if (isName && names.length <= MAX_PATH_DEPTH)
        names[names.length - 1] = nameIn(json, index, end);
      isName = false;
      index = end;
    } else if (byte === OPEN_BRACE) {
      names.push('');
      isName = true;
    } else if (byte === OPEN_BRACKET) {
      if (leadsTo(path, names)) return index;
      names.push(undefined);
      isName = false;
    } else if (byte === COMMA) isName = names.at(-1) !== undefined;
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) names.pop();
  }
  if (limit < json.length)
    throw new LoadError(
      'too_large',
      `there is no list at BANK_LIST (${path}) in the first ${MAX_AROUND_BYTES} bytes of the response`,
    );
  throw noListAt(json.toString('utf8', start), path);
};

const leadsTo = (path: string, names: readonly (string | undefined)[]): boolean =>
  names.length <= MAX_PATH_DEPTH && !names.includes(undefined) && names.join('.') === path;

/** Offsets of the value that holds the list, and of the list's brackets. */
interface ListOffsets {
  readonly start: number;
  readonly open: number;
  readonly close: number;
}

/**
 * Checks what is around the list.
 * @throws {LoadError} `malformed`, `not_a_list` or `too_large`
 */
export const checkAround = (
  json: Buffer,
  { start, open, close }: ListOffsets,
  path: string,
): void => {
  if (open - start + (json.length - close) > MAX_AROUND_BYTES)
    throw new LoadError(
      'too_large',
      `what is around the list at BANK_LIST (${path}) has more than ${MAX_AROUND_BYTES} bytes`,
    );
  const around = `${json.toString('utf8', start, open)}${MARK}${json.toString('utf8', close + 1)}`;
  const value = parseJson(around);
  if (!isJsonObject(value) || valueAt(value, path) !== JSON.parse(MARK))
    throw noListAt(around, path);
};

/** Stands for the list. */
const MARK = '"the list"';

const noListAt = (text: string, path: string): LoadError =>
  parseJson(text) === undefined
    ? new LoadError('malformed', 'the response is not JSON')
    : new LoadError('not_a_list', `there is no list at BANK_LIST (${path}) in the response`);

const listItself = (path: string): LoadError =>
  new LoadError('not_a_list', `the response is a list itself; unset BANK_LIST (${path})`);

const nameIn = (json: Buffer, start: number, end: number): string => {
  const name = parseJson(json.toString('utf8', start, end + 1));
  return typeof name === 'string' ? name : '';
};
