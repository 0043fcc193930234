import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { LoadError } from '../load-error.ts';
import { markAlteredNumbers } from './numbers.ts';

// Unknown bytes in; a checked and narrowed list out, or a LoadError that says why not. The provider's answers and the
// lists of every store are read here. The list is never parsed as a whole: its entries are parsed in groups of some
// 64 kB and only their published JSON is kept, so that the largest list costs little more heap than a small one, and
// the event loop is given back in between.

export interface ListContract {
  /** The published names, in order, and the field that each comes from. Undefined: every field passes. */
  readonly fields: readonly { readonly name: string; readonly from: string }[] | undefined;
  /** Published names without which an entry is rejected. */
  readonly requiredFields: readonly string[];
  /** The most bytes of JSON that may be published. */
  readonly maxBytes: number;
}

/** A list as it may be published. */
export interface ReadList {
  /** The published list: a JSON array in UTF-8, byte for byte as it is served. */
  readonly json: Buffer;
  readonly count: number;
  /** How many entries were unusable and are not in the list. */
  readonly rejected: number;
  /** The names of the fields that the entries had, in order of appearance; at most {@link MAX_FIELD_NAMES}. */
  readonly upstreamFields: readonly string[];
  /** 48 bits of each published entry's hash, in ascending order, to compare two lists without holding their entries. */
  readonly entryDigests: Float64Array;
}

/** Far above any real list: there are about 500 banks, and the largest register of payment institutions has 10,000. */
export const MAX_ENTRIES = 50_000;
/** Deeper than any bank could be; JSON.parse would take 100,000 levels, and JSON.stringify would then throw. */
export const MAX_DEPTH = 32;
/** One entry is parsed in one go, and the worst JSON of this size, empty objects, takes some 30 ms. */
export const MAX_ENTRY_BYTES = 64 * 1024;
/** Names beyond these are not collected; they are for the log and the doctor only. */
const MAX_FIELD_NAMES = 200;
const MAX_FIELD_NAME_LENGTH = 100;

/** Entries are parsed together up to about this size: larger groups parse no faster. */
const GROUP_BYTES = 16 * 1024;
/** After this time the event loop is given back; a list of 500 banks takes 2 ms and never does. */
const SLICE_MS = 10;

/**
 * Reads a list. One leading byte order mark is dropped (RFC 8259 section 8.1).
 * @throws {LoadError} `malformed`, `not_a_list` or `too_large`; or the signal's reason
 */
export const readList = async (
  json: Buffer,
  contract: ListContract,
  signal?: AbortSignal,
): Promise<ReadList> => {
  // Strict: an invalid sequence is an error, not U+FFFD in a bank's name.
  if (!isUtf8(json)) throw new LoadError('malformed', 'the list is not in UTF-8');
  const published = createPublishedList(contract);
  let sliceEndsAtMs = performance.now() + SLICE_MS;
  for (const group of entryGroups(json)) {
    published.add(parseGroup(group));
    if (performance.now() < sliceEndsAtMs) continue;
    // oxlint-disable-next-line no-await-in-loop -- that is the point: one slice after the other
    await setImmediate();
    signal?.throwIfAborted();
    sliceEndsAtMs = performance.now() + SLICE_MS;
  }
  return published.finish();
};

const createPublishedList = ({ fields, requiredFields, maxBytes }: ListContract) => {
  const chunks: Buffer[] = [];
  const digests: number[] = [];
  const names = new Set<string>();
  let received = 0;
  // The brackets; each chunk brings its comma.
  let bytes = 2;

  const add = (entries: readonly unknown[]): void => {
    received += entries.length;
    let text = '';
    for (const entry of entries) {
      if (!isJsonObject(entry)) continue;
      collectNames(entry, names);
      const bank = narrow(entry, fields);
      if (!isUsable(bank, requiredFields)) continue;
      const json = JSON.stringify(bank);
      digests.push(hash('sha256', json, 'buffer').readUIntBE(0, 6));
      text += text === '' ? json : `,${json}`;
    }
    if (text === '') return;
    const chunk = Buffer.from(chunks.length === 0 ? text : `,${text}`);
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > maxBytes)
      throw new LoadError('too_large', `the published list has more than ${maxBytes} bytes`);
  };

  return {
    add,
    finish: (): ReadList => ({
      json: Buffer.concat([Buffer.from('['), ...chunks, Buffer.from(']')]),
      count: digests.length,
      rejected: received - digests.length,
      upstreamFields: [...names],
      entryDigests: Float64Array.from(digests).toSorted(),
    }),
  };
};

/** Some consecutive entries, as the bytes between two commas or brackets of the list. */
interface Group {
  readonly text: string;
  readonly entries: number;
  /** Whether a number in it may be one that a double cannot hold. */
  readonly hasLongNumber: boolean;
}

/**
 * Splits a JSON array at the commas between its entries, counting brackets outside strings. What is between the commas
 * is left to JSON.parse: the array is valid JSON exactly if every group, in brackets, is. All that matters here is ASCII.
 */
function* entryGroups(json: Buffer): Generator<Group> {
  const open = afterSpace(json, hasByteOrderMark(json) ? 3 : 0);
  if (json[open] !== OPEN_BRACKET) throw notAList(json);
  let depth = 1;
  let total = 0;
  let groupStart = open + 1;
  let entryStart = groupStart;
  let entries = 0;
  let digits = 0;
  let hasLongNumber = false;
  const take = (end: number): Group => {
    const group = { text: json.toString('utf8', groupStart, end), entries, hasLongNumber };
    groupStart = end + 1;
    entries = 0;
    hasLongNumber = false;
    return group;
  };
  const endEntry = (end: number): void => {
    entries += 1;
    total += 1;
    if (total > MAX_ENTRIES)
      throw new LoadError('too_large', `the list has more than ${MAX_ENTRIES} entries`);
    entryStart = end + 1;
  };

  for (let index = open + 1; index < json.length; index += 1) {
    const byte = json[index] ?? 0;
    if (byte === QUOTE) index = endOfString(json, index, entryStart + MAX_ENTRY_BYTES);
    if (index - entryStart > MAX_ENTRY_BYTES)
      throw new LoadError('too_large', `an entry has more than ${MAX_ENTRY_BYTES} bytes`);
    if (byte === QUOTE) {
      digits = 0;
    } else if (byte === COMMA && depth === 1) {
      endEntry(index);
      if (index - groupStart >= GROUP_BYTES) yield take(index);
    } else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) {
      depth += 1;
      if (depth > MAX_DEPTH)
        throw new LoadError('malformed', `the list is nested deeper than ${MAX_DEPTH} levels`);
    } else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) {
      depth -= 1;
      if (depth > 0) continue;
      if (byte !== CLOSE_BRACKET || afterSpace(json, index + 1) < json.length) break;
      if (total === 0 && afterSpace(json, open + 1) === index) return;
      endEntry(index);
      yield take(index);
      return;
    }
    if (byte >= ZERO && byte <= NINE) {
      digits += 1;
      if (digits > EXACT_DIGITS) hasLongNumber = true;
    } else if (byte !== POINT) {
      if (digits > 0 && (byte === LOWER_E || byte === UPPER_E)) hasLongNumber = true;
      digits = 0;
    }
  }
  throw notJson();
}

/** Any decimal number of 15 significant digits survives a double, if its exponent is ordinary (IEEE 754, binary64). */
const EXACT_DIGITS = 15;

const parseGroup = ({ text, entries, hasLongNumber }: Group): readonly unknown[] => {
  const parsed = parseArray(`[${text}]`);
  // An empty place between two commas, at the end of a group.
  if (parsed.length !== entries) throw notJson();
  return hasLongNumber ? parseArray(`[${markAlteredNumbers(text)}]`) : parsed;
};

const parseArray = (text: string): readonly unknown[] => {
  try {
    const value: unknown = JSON.parse(text);
    if (Array.isArray(value)) return value;
  } catch {
    // The parser's message quotes the text, so it goes no further.
  }
  throw notJson();
};

const notJson = (): LoadError => new LoadError('malformed', 'the list is not JSON');

/** Up to this many bytes it is worth parsing something to say whether it is JSON at all. */
const MAX_OTHER_BYTES = 1024 * 1024;

const notAList = (json: Buffer): LoadError => {
  if (json.length <= MAX_OTHER_BYTES) {
    try {
      JSON.parse(new TextDecoder().decode(json));
    } catch {
      return notJson();
    }
  }
  return new LoadError('not_a_list', 'the answer is JSON, but not a list');
};

/** The index of the quote that ends the string which begins at `start`; one beyond `last` where none does. */
const endOfString = (json: Buffer, start: number, last: number): number => {
  let index = start + 1;
  const end = Math.min(last + 1, json.length);
  while (index < end && json[index] !== QUOTE) index += json[index] === BACKSLASH ? 2 : 1;
  return index;
};

/** The index of the first byte from `index` on that is not white space (RFC 8259 section 2). */
const afterSpace = (json: Buffer, index: number): number => {
  while (index < json.length && isSpace(json[index])) index += 1;
  return index;
};

const hasByteOrderMark = (json: Buffer): boolean => json[0] === 0xef && json[1] === 0xbb && json[2] === 0xbf;

const [SPACE, TAB, LINE_FEED, CARRIAGE_RETURN] = Buffer.from(' \t\n\r');
const isSpace = (byte: number | undefined): boolean =>
  byte === SPACE || byte === LINE_FEED || byte === CARRIAGE_RETURN || byte === TAB;
const [QUOTE, BACKSLASH, COMMA, OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] =
  Buffer.from('"\\,[]{}');
const [ZERO = 0, NINE = 0, POINT, LOWER_E, UPPER_E] = Buffer.from('09.eE');

type JsonObject = Readonly<Record<string, unknown>>;

const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const collectNames = (entry: JsonObject, names: Set<string>): void => {
  if (names.size >= MAX_FIELD_NAMES) return;
  for (const name of Object.keys(entry)) {
    if (name.length <= MAX_FIELD_NAME_LENGTH) names.add(name);
    if (names.size >= MAX_FIELD_NAMES) return;
  }
};

/** The published fields of one entry, in their configured order; a field that the entry lacks is null. */
const narrow = (entry: JsonObject, fields: ListContract['fields']): JsonObject =>
  Object.fromEntries(
    fields
      ? fields.map(({ name, from }) => [name, Object.hasOwn(entry, from) ? entry[from] : null])
      : // Assigned anywhere in a browser, this key would change an object's prototype.
        Object.entries(entry).filter(([name]) => name !== '__proto__'),
  );

/** Whether a narrowed entry may be published: it has its required fields, something to show, and nothing harmful. */
const isUsable = (bank: JsonObject, requiredFields: readonly string[]): boolean =>
  requiredFields.every((name) => isPresent(bank[name])) &&
  Object.values(bank).some(isPresent) &&
  !Object.values(bank).some(isHarmful);

const isPresent = (value: unknown): boolean => value !== undefined && value !== null && value !== '';

/**
 * A number beyond the integers that a double holds exactly (2^53 - 1), since it may be another number already, or a
 * nested object that would change its prototype where a browser assigns its members.
 */
const isHarmful = (value: unknown): boolean => {
  if (typeof value === 'object' && value !== null)
    return Object.hasOwn(value, '__proto__') || Object.values(value).some(isHarmful);
  return typeof value === 'number' && (!Number.isFinite(value) || Math.abs(value) > Number.MAX_SAFE_INTEGER);
};
