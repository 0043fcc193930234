import { createHash } from 'node:crypto';
import type { SavedList } from '../banks/cached-list.ts';
import { ACCEPTANCES, type Decision } from '../banks/guard/guard.ts';
import { CONTENT_CHARS, MAX_EARLIER_LISTS, type EarlierList } from '../banks/guard/memory.ts';
import { MAX_ENTRIES } from '../banks/reading/entry-groups.ts';
import { isJsonObject, parseJson, type JsonObject } from '../banks/reading/entry.ts';
import { readList, type ListContract, type ReadOptions } from '../banks/reading/list-reader.ts';
import type { Config } from '../config/config.ts';
import { StoreError } from './list-store.ts';

// The format of a saved list: versioned, tied to the configuration that produced it, with a checksum. It contains the
// published banks and nothing else. What is read back is untrusted input: it goes through the same reader as the
// provider's answer, and is used only if it is byte for byte what this service would publish.
//
//     {"format":"banks-bff/list","version":1,"provenance":"…","checksum":"…","lifeMs":608400000}
//     {"receivedAtMs":1767225600000,"changedAtMs":1767225600000,"banks":[…]}
//     {"earlier":[{"content":"…","count":513,"heldUntilMs":1767225600000}],"decision":{"reasons":["shrunk"],"requestId":"…"}}
//
// The third line is for the guard, where there is anything to remember. Versions before it was there read the first two, and
// a list without it is read all the same.

const FORMAT = 'banks-bff/list';
/** Incremented with each change that an older reader would misunderstand. */
export const ENVELOPE_VERSION = 1;

/**
 * A short identifier of the settings that a list depends on, equal where lists can be exchanged: the provider, the
 * place of the list in its answer, the published fields and the required ones. None is a secret.
 */
export const provenanceId = ({
  environment,
  baseUrl,
  listPath,
  fields,
  requiredFields,
}: Provenance): string => {
  const names = fields?.map(({ name, from }) => [name, from]) ?? null;
  const settings = [environment, baseUrl.href, names, requiredFields];
  // Without a path the identifier is that of the versions which knew none.
  if (listPath !== undefined) settings.push(listPath);
  return digest(JSON.stringify(settings)).slice(0, 22);
};

type Provenance = Pick<Config['provider'], 'environment' | 'baseUrl'> &
  Pick<ListContract, 'listPath' | 'fields' | 'requiredFields'>;

export interface EnvelopeOptions {
  /** From {@link provenanceId}. */
  readonly provenance: string;
  /** The contract of the provider's lists. */
  readonly contract: ListContract;
  /** Measures the slices in which a list is read; the system's unless given. */
  readonly clock?: ReadOptions['clock'];
}

export type Envelope = ReturnType<typeof createEnvelope>;

/** More than the header line and the times ever take. */
const MAX_HEADER_LINE_BYTES = 1024;
/** The last moment that ISO 8601 writes with a four-digit year. */
const MAX_TIME_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

export const createEnvelope = ({ provenance, contract, clock }: EnvelopeOptions) => {
  // Saved entries are already narrowed, so each field has its published name.
  const fields = contract.fields?.map(({ name }) => ({ name, from: name }));
  const maxBytes = contract.maxBytes + 2 * MAX_HEADER_LINE_BYTES;
  return {
    /** From {@link provenanceId}. */
    provenance,
    /** The largest envelope in bytes; a reader needs no more. */
    maxBytes,
    /** @param lifeMs milliseconds after which the store deletes the list, counted from when the provider sent it; undefined: never */
    seal: (saved: SavedList, lifeMs?: number): Buffer => {
      const { json, receivedAtMs, changedAtMs, acceptedAtMs } = saved;
      const times = JSON.stringify({ receivedAtMs, changedAtMs, acceptedAtMs });
      const list = Buffer.concat([Buffer.from(`${times.slice(0, -1)},"banks":`), json, Buffer.from('}')]);
      // The checksum precedes the list, so a truncated list is detected without parsing it.
      const header = {
        format: FORMAT,
        version: ENVELOPE_VERSION,
        provenance,
        checksum: digest(list),
        lifeMs,
      };
      const sealed = Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), list, Buffer.from('\n')]);
      const { earlier, decision } = saved;
      if (earlier.length === 0 && !decision) return sealed;
      const memory = JSON.stringify({ earlier, decision });
      const remembering = Buffer.concat([sealed, Buffer.from(`${memory}\n`)]);
      // Of a list at the bound of its size nothing is remembered: longer ones would be refused when they are read.
      return remembering.length <= maxBytes ? remembering : sealed;
    },
    /** @throws {StoreError | LoadError} if it is damaged, foreign or not a valid list; the message says which */
    open: async (bytes: Buffer) => {
      if (bytes.length > maxBytes) throw new StoreError(`contains more than ${maxBytes} bytes; ignored`);
      const [header, list, memory] = split(bytes);
      if (header?.['format'] !== FORMAT) throw new StoreError('does not contain a saved list; ignored');
      if (header['version'] !== ENVELOPE_VERSION)
        throw new StoreError('contains a list saved by another version of this service; ignored');
      if (header['provenance'] !== provenance)
        throw new StoreError('contains a list saved with another configuration; ignored');
      if (header['checksum'] !== digest(list)) throw new StoreError('contains a damaged list; ignored');
      const saved = splitTimes(list);
      // What the reader counts besides is true of what the provider sent only.
      const { json, count, profile, entryDigests } = await readList(
        saved.json,
        { ...contract, fields, listPath: undefined },
        { clock },
      );
      // Otherwise this service did not write it: it has an entry or a field that would not be published.
      if (!json.equals(saved.json)) throw new StoreError('contains an altered list; ignored');
      const lifeMs = isTime(header['lifeMs']) ? header['lifeMs'] : undefined;
      return { list: { ...saved, count, profile, entryDigests, ...readMemory(memory) }, lifeMs };
    },
  };
};

/** The header, undefined if it is not a JSON object, the bytes of the list, and what the third line has. */
const split = (bytes: Buffer): readonly [JsonObject | undefined, Buffer, unknown] => {
  const headerEnd = bytes.subarray(0, MAX_HEADER_LINE_BYTES).indexOf('\n');
  const listEnd = bytes.indexOf('\n', headerEnd + 1);
  const end = listEnd === -1 ? bytes.length : listEnd;
  // Without its line break a line is empty, which is not JSON.
  const header = parseJson(bytes.toString('utf8', 0, headerEnd));
  return [
    isJsonObject(header) ? header : undefined,
    bytes.subarray(headerEnd + 1, end),
    parseJson(bytes.toString('utf8', end + 1)),
  ];
};

const TIMES = /^\{"receivedAtMs":(\d{1,16}),"changedAtMs":(\d{1,16}),(?:"acceptedAtMs":(\d{1,16}),)?"banks":/;

const splitTimes = (
  list: Buffer,
): Pick<SavedList, 'json' | 'receivedAtMs' | 'changedAtMs' | 'acceptedAtMs'> => {
  const match = TIMES.exec(list.toString('latin1', 0, 128));
  if (!match || list.at(-1) !== CLOSE_BRACE) throw wrongShape();
  const [head, receivedAt, changedAt, acceptedAt] = match;
  const [receivedAtMs, changedAtMs] = [Number(receivedAt), Number(changedAt)];
  const acceptedAtMs = acceptedAt === undefined ? undefined : Number(acceptedAt);
  if (![receivedAtMs, changedAtMs, acceptedAtMs ?? 0].every(isTime)) throw wrongShape();
  return { json: list.subarray(head.length, -1), receivedAtMs, changedAtMs, acceptedAtMs };
};

const wrongShape = (): StoreError => new StoreError('contains a list of the wrong shape; ignored');

const [CLOSE_BRACE] = Buffer.from('}');

const isTime = (value: unknown): value is number => isWholeUpTo(MAX_TIME_MS, value);

const isWholeUpTo = (max: number, value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= max;

// What is known of the lists before a saved one. Where anything in it is wrong, nothing of it is used.

type SavedMemory = Pick<SavedList, 'earlier' | 'decision'>;

const NO_MEMORY: SavedMemory = { earlier: [] };

const readMemory = (line: unknown): SavedMemory => {
  if (!isJsonObject(line)) return NO_MEMORY;
  const earlier = toList(line['earlier'], MAX_EARLIER_LISTS).map(toEarlierList);
  if (!earlier.every((list) => list !== undefined)) return NO_MEMORY;
  return { earlier, decision: toDecision(line['decision']) };
};

const toEarlierList = (list: unknown): EarlierList | undefined => {
  if (!isJsonObject(list)) return undefined;
  const { content, count, heldUntilMs } = list;
  if (typeof content !== 'string' || content.length !== CONTENT_CHARS) return undefined;
  return isWholeUpTo(MAX_ENTRIES, count) && isTime(heldUntilMs) ? { content, count, heldUntilMs } : undefined;
};

const MAX_REQUEST_ID_CHARS = 128;

const toDecision = (decision: unknown): Decision | undefined => {
  if (!isJsonObject(decision)) return undefined;
  const { reasons, requestId } = decision;
  const known = ACCEPTANCES.filter((reason) => toList(reasons, ACCEPTANCES.length).includes(reason));
  const isId = typeof requestId === 'string' && requestId.length <= MAX_REQUEST_ID_CHARS;
  return known.length > 0 && isId ? { reasons: known, requestId } : undefined;
};

const toList = (value: unknown, max: number): readonly unknown[] =>
  Array.isArray(value) ? value.slice(0, max) : [];

const digest = (data: string | Buffer): string => createHash('sha256').update(data).digest('base64url');
