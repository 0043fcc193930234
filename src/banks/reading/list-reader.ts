import { isUtf8 } from 'node:buffer';
import { systemClock, type Clock } from '../../clock.ts';
import { LoadError } from '../load-error.ts';
import { isJsonObject, type JsonObject } from '../../json.ts';
import { entryGroups } from './entry-groups.ts';
import {
  digestOf,
  isFilled,
  isPlainValue,
  narrow,
  NOTHING_REJECTED,
  whyUnusable,
  type FieldRule,
  type RejectedEntries,
  type RejectionReason,
} from './entry.ts';
import { createProfile, type ListProfile } from './profile.ts';
import { createUpstreamFields, leavesOf, type PublishableField } from './upstream-fields.ts';

// Unknown bytes in; a checked and narrowed list out, or a LoadError that says why not. The
// provider's responses and the lists of every store are read here. The list is never parsed as a
// whole: its entries are parsed in groups of some 16 kB and only their published JSON is kept, so
// that the largest list costs little more heap than a small one, and the event loop is given back
// in between.

export interface ListContract {
  /** Whose secret a piece of published JSON contains; undefined: nothing is looked for. */
  readonly findEcho?: ((json: string) => string | undefined) | undefined;
  /** Where the list is in the body, such as `data.banks`; undefined: the body is the list. */
  readonly listPath?: string | undefined;
  /** The published fields, in order. Undefined: every field passes. */
  readonly fields: readonly FieldRule[] | undefined;
  /** Published names without which an entry is rejected. */
  readonly requiredFields: readonly string[];
  /** The most bytes of JSON that may be published. */
  readonly maxBytes: number;
}

/** What is published of a list, and what follows from that alone. */
export interface ListContent {
  /** A JSON array in UTF-8, byte for byte as it is served. */
  readonly json: Buffer;
  readonly count: number;
  /** What the published fields hold. */
  readonly profile: ListProfile;
  /**
   * 48 bits of each published entry's hash, in ascending order, to compare two lists without
   * holding their entries.
   */
  readonly entryDigests: Float64Array;
}

/** The same with what is known only of the bytes that were read. */
export interface ReadList extends ListContent {
  /** How many entries were unusable and are not in the list. */
  readonly rejected: RejectedEntries;
  /**
   * The published names that are filled in no entry, rejected ones included; none where the list
   * had no objects.
   */
  readonly absentFields: readonly string[];
  /**
   * The published fields that are objects in some entries, each with the paths of the values in it.
   */
  readonly objectFields: ReadonlyMap<string, readonly string[]>;
  /**
   * The fields that the entries had, those inside objects as paths, in order of appearance; at most
   * {@link MAX_FIELD_NAMES}.
   */
  readonly upstreamFields: readonly string[];
  /** Those of them that BANK_FIELDS may name. */
  readonly publishableFields: readonly PublishableField[];
}

/** A list as the provider sent it. */
export interface LoadedList extends ReadList {
  /**
   * The response named a next page (`Link` with `rel="next"`), so that the list is probably
   * incomplete.
   */
  readonly hasNextPage: boolean;
}

export interface ReadOptions {
  /** Measures the slices; the system's unless given. */
  readonly clock?: Pick<Clock, 'monotonicMs' | 'turn'> | undefined;
  /** Ends the reading between two slices. */
  readonly signal?: AbortSignal;
}

/** After this time the event loop is given back; a list of 500 banks takes 2 ms and never does. */
const SLICE_MS = 10;

/**
 * Reads a list. One leading byte order mark is dropped (RFC 8259 section 8.1).
 * @throws {LoadError} `malformed`, `not_a_list`, `echoed_secret` or `too_large`; or the signal's
 *   reason
 */
export const readList = async (
  json: Buffer,
  contract: ListContract,
  { clock = systemClock, signal }: ReadOptions = {},
): Promise<ReadList> => {
  // Strict: an invalid sequence is an error, not U+FFFD in a bank's name.
  if (!isUtf8(json)) throw new LoadError('malformed', 'the list is not in UTF-8');
  const published = createPublishedList(contract);
  let sliceEndsAtMs = clock.monotonicMs() + SLICE_MS;
  for (const group of entryGroups(json, contract.listPath)) {
    published.add(group);
    if (clock.monotonicMs() < sliceEndsAtMs) continue;
    // oxlint-disable-next-line no-await-in-loop -- that is the point: one slice after the other
    await clock.turn();
    signal?.throwIfAborted();
    sliceEndsAtMs = clock.monotonicMs() + SLICE_MS;
  }
  return published.finish();
};

const createPublishedList = ({ fields, requiredFields, maxBytes, findEcho }: ListContract) => {
  const chunks: Buffer[] = [];
  const digests = new Set<number>();
  const upstream = createUpstreamFields();
  const objectFields = new Map<string, readonly string[]>();
  const profile = createProfile(fields?.map(({ name }) => name));
  const rejected = { ...NOTHING_REJECTED };
  /** Configured names that no object has filled so far. */
  const absent = new Set(fields?.map(({ name }) => name));
  let objects = 0;
  // The brackets; each chunk brings its comma.
  let bytes = 2;

  const reject = (reason: RejectionReason): undefined => {
    rejected[reason] += 1;
  };
  /** Which fields of the entry are objects, and what is in the first one. */
  const noteObjects = (bank: JsonObject): void => {
    for (const { name, from } of fields ?? []) {
      if (isPlainValue(bank[name]) || objectFields.has(name)) continue;
      const value = bank[name];
      objectFields.set(name, isJsonObject(value) ? leavesOf(value, from) : []);
    }
  };
  /** The JSON of an entry, unless it is rejected. */
  const publish = (entry: unknown): string | undefined => {
    if (!isJsonObject(entry)) return reject('not_an_object');
    objects += 1;
    upstream.add(entry);
    const bank = narrow(entry, fields);
    for (const name of absent) if (isFilled(bank[name])) absent.delete(name);
    const reason = whyUnusable(bank, requiredFields, fields !== undefined);
    if (reason === 'object_value') noteObjects(bank);
    if (reason) return reject(reason);
    const json = JSON.stringify(bank);
    const digest = digestOf(json);
    if (digests.has(digest)) return reject('duplicate');
    digests.add(digest);
    profile.add(bank);
    return json;
  };

  return {
    add: (entries: readonly unknown[]): void => {
      const text = entries
        .map(publish)
        .filter((json) => json !== undefined)
        .join(',');
      if (text === '') return;
      const echoed = findEcho?.(text);
      if (echoed !== undefined)
        throw new LoadError('echoed_secret', `a published value contains the secret of ${echoed}`);
      const chunk = Buffer.from(chunks.length === 0 ? text : `,${text}`);
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > maxBytes)
        throw new LoadError('too_large', `the published list has more than ${maxBytes} bytes`);
    },
    finish: (): ReadList => ({
      json: Buffer.concat([Buffer.from('['), ...chunks, Buffer.from(']')]),
      count: digests.size,
      rejected,
      profile: profile.finish(),
      absentFields: objects > 0 ? [...absent] : [],
      objectFields,
      ...upstream.finish(objects),
      entryDigests: Float64Array.from(digests).toSorted(),
    }),
  };
};
