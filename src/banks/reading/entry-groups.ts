import { LoadError } from '../load-error.ts';
import { MAX_LIST_ENTRIES, parseJson } from '../../json.ts';
import {
  afterSpace,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  endOfString,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  startOfValue,
} from './json-bytes.ts';
import { checkAround, findList } from './list-path.ts';

// A JSON array cut into groups of entries, each of which is parsed by itself.

/**
 * Deeper than any bank could be; JSON.parse would take 100,000 levels, and JSON.stringify would
 * then throw.
 */
export const MAX_DEPTH = 32;
/**
 * One entry is parsed in one go, and the worst JSON of this size, empty objects, takes some 30 ms.
 */
export const MAX_ENTRY_BYTES = 64 * 1024;
/** Entries are parsed together up to about this size: larger groups parse no faster. */
const GROUP_BYTES = 16 * 1024;

/**
 * The entries of a JSON array, group by group. It is split at the commas between the entries,
 * counting brackets outside strings. What is between the commas is left to JSON.parse: the array is
 * valid JSON exactly if every group, in brackets, is.
 * @param path where the array is in the value; undefined: it is the value
 * @throws {LoadError} `malformed`, `not_a_list` or `too_large`
 */
export function* entryGroups(json: Buffer, path?: string): Generator<readonly unknown[]> {
  const start = startOfValue(json);
  const open = path === undefined ? start : findList(json, start, path);
  if (json[open] !== OPEN_BRACKET) throw notAList(json);
  let depth = 1;
  let total = 0;
  let groupStart = open + 1;
  let entryStart = groupStart;
  let entries = 0;
  const endGroup = (end: number): readonly unknown[] => {
    const group = parseGroup(json.toString('utf8', groupStart, end));
    // `[]` is valid JSON, but here an entry is missing: between two commas, or after the last one.
    if (group.length !== entries) throw notJson();
    groupStart = end + 1;
    entries = 0;
    return group;
  };
  const endEntry = (end: number): void => {
    entries += 1;
    total += 1;
    if (total > MAX_LIST_ENTRIES)
      throw new LoadError('too_large', `the list has more than ${MAX_LIST_ENTRIES} entries`);
    entryStart = end + 1;
  };

  for (let index = open + 1; index < json.length; index += 1) {
    const byte = json[index] ?? 0;
    if (byte === QUOTE) index = endOfString(json, index, entryStart + MAX_ENTRY_BYTES);
    if (index - entryStart > MAX_ENTRY_BYTES)
      throw new LoadError('too_large', `an entry has more than ${MAX_ENTRY_BYTES} bytes`);
    if (byte === COMMA && depth === 1) {
      endEntry(index);
      if (index - groupStart >= GROUP_BYTES) yield endGroup(index);
    } else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) {
      depth += 1;
      if (depth > MAX_DEPTH)
        throw new LoadError('malformed', `the list is nested deeper than ${MAX_DEPTH} levels`);
    } else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) {
      depth -= 1;
      if (depth > 0) continue;
      if (byte !== CLOSE_BRACKET) break;
      if (path !== undefined) checkAround(json, { start, open, close: index }, path);
      else if (afterSpace(json, index + 1) < json.length) break;
      if (afterSpace(json, open + 1) === index) return;
      endEntry(index);
      yield endGroup(index);
      return;
    }
  }
  throw notJson();
}

/** Some entries, with infinity in place of each number that a double cannot hold. */
const parseGroup = (text: string): readonly unknown[] => {
  const value = parseJson(`[${text}]`);
  if (!Array.isArray(value)) throw notJson();
  return mayHaveLongNumber(text) ? JSON.parse(`[${markAlteredNumbers(text)}]`) : value;
};

const notJson = (): LoadError => new LoadError('malformed', 'the list is not JSON');

/** Up to this many bytes it is worth parsing something to say whether it is JSON at all. */
const MAX_OTHER_BYTES = 1024 * 1024;

const notAList = (json: Buffer): LoadError =>
  json.length <= MAX_OTHER_BYTES && parseJson(new TextDecoder().decode(json)) === undefined
    ? notJson()
    : new LoadError(
        'not_a_list',
        'the response is JSON, but not a list; if the list is inside, set BANK_LIST to its path',
      );

// Numbers that JavaScript would alter silently: JSON.parse gives no source text before Node
// 21, so it is looked at before parsing.

/**
 * Any decimal number of 15 significant digits survives a double, if it has no exponent (IEEE 754,
 * binary64).
 */
const LONG_NUMBER = /\d(?:\.?\d){15}|\d[eE]/;

/**
 * Whether a number in JSON text may be one that a double cannot hold; texts of many digits are
 * suspected too.
 */
const mayHaveLongNumber = (json: string): boolean => LONG_NUMBER.test(json);

/**
 * A string, which is left as it is, or a number without its sign. In valid JSON every string ends:
 * nothing backtracks.
 */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|\d[\d.eE+-]*/g;

/**
 * Replaces each number of valid JSON text that a double cannot hold by an infinite one: `1e999`. A
 * number is kept if what JSON.stringify would write has the same decimal value: `0.1` and `1.50`
 * are, `4503599627370497.75` is not.
 */
const markAlteredNumbers = (json: string): string =>
  json.replaceAll(STRING_OR_NUMBER, (token) =>
    token.startsWith('"') || decimalValue(token) === decimalValue(String(Number(token)))
      ? token
      : '1e999',
  );

/**
 * One text for each decimal value without a sign: its significant digits and the exponent of the
 * last one.
 */
const decimalValue = (number: string): string => {
  const [mantissa = '', exponent = 0] = number.toLowerCase().split('e');
  const [integer = '', fraction = ''] = mantissa.split('.');
  const digits = (integer + fraction).replace(/^0+/, '');
  // Zero has none, whatever its exponent is.
  if (digits === '') return digits;
  // A pattern for the zeros at the end would be tried at every zero.
  let zeros = 0;
  while (digits.at(-1 - zeros) === '0') zeros += 1;
  return `${digits.slice(0, digits.length - zeros)}e${Number(exponent) - fraction.length + zeros}`;
};
