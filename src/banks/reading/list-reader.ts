import { createHash } from 'node:crypto';
import { isUtf8 } from 'node:buffer';
import { isJsonObject, parseJson } from '../../json.ts';
import { LoadError } from '../load-error.ts';
import {
  isFilled,
  narrow,
  NOTHING_REJECTED,
  valueAt,
  whyUnusable,
  type FieldRule,
  type RejectedEntries,
} from './entry.ts';
import { createProfile, type ListProfile } from './profile.ts';
import { createProviderFields, type PublishableField } from './provider-fields.ts';

// Unknown bytes in; a checked and narrowed list out, or a LoadError that says why not. The
// provider's responses and the lists of every store are read here, in one pass. The bound is the
// size of the body: 1 MB takes some 30 ms.

export interface ReadRules {
  /** Where the list is in the body, such as `data.banks`; undefined: the body is the list. */
  readonly listPath?: string | undefined;
  /** The published fields, in order. Undefined: every field with a plain value is published. */
  readonly fields: readonly FieldRule[] | undefined;
  /** Published names without which an entry is rejected. */
  readonly requiredFields: readonly string[];
}

/**
 * The longest list that is read. Far above any real one: there are about 500 banks, and the largest
 * register of payment institutions has 10,000.
 */
export const MAX_LIST_ENTRIES = 50_000;

/** Narrowing can make a list longer: an entry gets a null for each field that it lacks. */
const MAX_PUBLISHED_BYTES = 16 * 1024 * 1024;

/** What is published of a list, and what follows from that alone. */
export interface ListContent {
  /** A JSON array in UTF-8, byte for byte as it is served. */
  readonly json: Buffer;
  readonly count: number;
  /** What the published fields hold. */
  readonly profile: ListProfile;
  /** Identifies the entries, in any order. */
  readonly contentHash: string;
}

/** The same with what is known only of the bytes that were read. */
export interface ReadList extends ListContent {
  /** How many entries are not in the list, by reason. */
  readonly rejected: RejectedEntries;
  /** The published names that are filled in no entry, rejected ones included. */
  readonly absentFields: readonly string[];
  /** The fields of the entries that BANK_FIELDS may name, in order of appearance. */
  readonly publishableFields: readonly PublishableField[];
}

/** A list as the provider sent it. */
export interface LoadedList extends ReadList {
  /**
   * The response named a next page (`Link` with `rel="next"`), which is not loaded: the list is
   * probably incomplete.
   */
  readonly hasNextPage: boolean;
}

/**
 * Reads a list. One leading byte order mark is dropped (RFC 8259 section 8.1).
 * @throws {LoadError} `malformed`, `not_a_list` or `too_large`
 */
export const readList = (
  bytes: Buffer,
  { listPath, fields, requiredFields }: ReadRules,
): ReadList => {
  const entries = entriesIn(bytes, listPath);
  const published = new Set<string>();
  let publishedBytes = 0;
  const providerFields = createProviderFields();
  const profile = createProfile(fields?.map(({ name }) => name));
  const rejected = { ...NOTHING_REJECTED };
  const absent = new Set(fields?.map(({ name }) => name));
  for (const entry of entries) {
    if (!isJsonObject(entry)) {
      rejected.not_an_object += 1;
      continue;
    }
    providerFields.add(entry);
    const bank = narrow(entry, fields);
    for (const name of absent) if (isFilled(bank[name])) absent.delete(name);
    const reason = whyUnusable(bank, requiredFields);
    if (reason) {
      rejected[reason] += 1;
      continue;
    }
    const json = JSON.stringify(bank);
    if (published.has(json)) {
      rejected.duplicate += 1;
      continue;
    }
    published.add(json);
    profile.add(bank);
    publishedBytes += Buffer.byteLength(json) + 1;
    if (publishedBytes > MAX_PUBLISHED_BYTES)
      throw new LoadError('too_large', `more than ${MAX_PUBLISHED_BYTES} bytes would be published`);
  }
  return {
    json: Buffer.from(`[${[...published].join(',')}]`),
    count: published.size,
    contentHash: hashOf([...published]),
    profile: profile.finish(),
    rejected,
    absentFields: rejected.not_an_object < entries.length ? [...absent] : [],
    publishableFields: providerFields.finish(entries.length - rejected.not_an_object),
  };
};

/** The array at `listPath`. @throws {LoadError} */
const entriesIn = (bytes: Buffer, listPath: string | undefined): readonly unknown[] => {
  // Strict: an invalid sequence is an error, not U+FFFD in a bank's name.
  if (!isUtf8(bytes)) throw new LoadError('malformed', 'the list is not in UTF-8');
  // It drops a byte order mark.
  const body = parseJson(new TextDecoder().decode(bytes));
  if (body === undefined) throw new LoadError('malformed', 'the list is not JSON');
  const list = listPath === undefined ? body : isJsonObject(body) && valueAt(body, listPath);
  if (!Array.isArray(list)) throw new LoadError('not_a_list', whyNotAList(body, listPath));
  if (list.length > MAX_LIST_ENTRIES)
    throw new LoadError('too_large', `the list has more than ${MAX_LIST_ENTRIES} entries`);
  return list;
};

const whyNotAList = (body: unknown, listPath: string | undefined): string => {
  if (listPath === undefined)
    return 'the response is JSON, but not a list; if the list is inside, set BANK_LIST to its path';
  return Array.isArray(body)
    ? `the response itself is the list, and has nothing at BANK_LIST (${listPath}); unset it`
    : `the response has no list at BANK_LIST (${listPath})`;
};

const hashOf = (entries: string[]): string =>
  createHash('sha256').update(entries.toSorted().join('\n')).digest('base64url').slice(0, 22);
