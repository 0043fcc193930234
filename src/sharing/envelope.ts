import { createHash } from 'node:crypto';
import type { SavedList } from '../banks/cached-list.ts';
import { isJsonObject } from '../banks/reading/entry.ts';
import { readList, type ListContract, type ReadOptions } from '../banks/reading/list-reader.ts';
import type { Config } from '../config/config.ts';
import { StoreError } from './list-store.ts';

// The format of a saved list: versioned, tied to the configuration that produced it, with a checksum. It contains the
// published banks and nothing else. What is read back is untrusted input: it goes through the same reader as the
// provider's answer, and is used only if it is byte for byte what this service would publish.
//
//     {"format":"banks-bff/list","version":1,"provenance":"…","checksum":"…","lifeMs":608400000}
//     {"receivedAtMs":1767225600000,"changedAtMs":1767225600000,"banks":[…]}

const FORMAT = 'banks-bff/list';
/** Incremented with each change that an older reader would misunderstand. */
export const ENVELOPE_VERSION = 1;

/**
 * A short identifier of the settings that a list depends on, equal where lists can be exchanged: the provider, the published
 * fields and the required ones. None is a secret.
 */
export const provenanceId = ({ environment, baseUrl, fields, requiredFields }: Provenance): string => {
  const names = fields?.map(({ name, from }) => [name, from]) ?? null;
  return digest(JSON.stringify([environment, baseUrl.href, names, requiredFields])).slice(0, 22);
};

type Provenance = Pick<Config['provider'], 'environment' | 'baseUrl'> &
  Pick<ListContract, 'fields' | 'requiredFields'>;

export interface EnvelopeOptions {
  /** From {@link provenanceId}. */
  readonly provenance: string;
  /** The contract of the provider's lists. */
  readonly contract: ListContract;
  /** Measures the slices in which a list is read; the system's unless given. */
  readonly clock?: ReadOptions['clock'];
}

export interface Envelope {
  /** The largest envelope in bytes; a reader needs no more. */
  readonly maxBytes: number;
  /** @param lifeMs milliseconds after which the store deletes the list, counted from when the provider sent it; undefined: never */
  seal(list: SavedList, lifeMs?: number): Buffer;
  /** @throws {StoreError | LoadError} if it is damaged, foreign or not a valid list; the message says which */
  open(bytes: Buffer): Promise<Opened>;
}

export interface Opened {
  readonly list: SavedList;
  readonly lifeMs: number | undefined;
}

/** More than the header line and the times ever take. */
const MAX_HEADER_LINE_BYTES = 1024;
/** The last moment that ISO 8601 writes with a four-digit year. */
const MAX_TIME_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

export const createEnvelope = ({ provenance, contract, clock }: EnvelopeOptions): Envelope => {
  // Saved entries are already narrowed, so each field has its published name.
  const fields = contract.fields?.map(({ name }) => ({ name, from: name }));
  const maxBytes = contract.maxBytes + 2 * MAX_HEADER_LINE_BYTES;
  return {
    maxBytes,
    seal: ({ json, receivedAtMs, changedAtMs, acceptedAtMs }, lifeMs) => {
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
      return Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), list, Buffer.from('\n')]);
    },
    open: async (bytes) => {
      if (bytes.length > maxBytes) throw tooLarge(maxBytes);
      const [header, list] = split(bytes);
      if (header?.['format'] !== FORMAT) throw new StoreError('does not contain a saved list; ignored');
      if (header['version'] !== ENVELOPE_VERSION)
        throw new StoreError('contains a list saved by another version of this service; ignored');
      if (header['provenance'] !== provenance)
        throw new StoreError('contains a list saved with another configuration; ignored');
      if (header['checksum'] !== digest(list)) throw new StoreError('contains a damaged list; ignored');
      const { json, ...times } = splitTimes(list);
      const read = await readList(json, { ...contract, fields }, { clock });
      // Otherwise this service did not write it: it has an entry or a field that would not be published.
      if (!read.json.equals(json)) throw new StoreError('contains an altered list; ignored');
      const lifeMs = isTime(header['lifeMs']) ? header['lifeMs'] : undefined;
      return { list: { ...read, ...times }, lifeMs };
    },
  };
};

export const tooLarge = (maxBytes: number): StoreError =>
  new StoreError(`contains more than ${maxBytes} bytes; ignored`);

/** The header, undefined if it is not a JSON object, and the bytes of the list. */
const split = (bytes: Buffer): readonly [Readonly<Record<string, unknown>> | undefined, Buffer] => {
  const headerEnd = bytes.subarray(0, MAX_HEADER_LINE_BYTES).indexOf('\n');
  const end = bytes.indexOf('\n', headerEnd + 1);
  // Without a line break it is empty, which is not JSON.
  const header = parse(bytes.toString('utf8', 0, headerEnd));
  return [
    isJsonObject(header) ? header : undefined,
    bytes.subarray(headerEnd + 1, end === -1 ? undefined : end),
  ];
};

const TIMES = /^\{"receivedAtMs":(\d{1,16}),"changedAtMs":(\d{1,16}),(?:"acceptedAtMs":(\d{1,16}),)?"banks":/;

const splitTimes = (
  list: Buffer,
): Pick<SavedList, 'json' | 'receivedAtMs' | 'changedAtMs' | 'acceptedAtMs'> => {
  const match = TIMES.exec(list.toString('latin1', 0, 128));
  const [head = '', receivedAt, changedAt, acceptedAt] = match ?? [];
  const [receivedAtMs, changedAtMs] = [Number(receivedAt), Number(changedAt)];
  const acceptedAtMs = acceptedAt === undefined ? undefined : Number(acceptedAt);
  const isValid = isTime(receivedAtMs) && isTime(changedAtMs) && isTime(acceptedAtMs ?? 0);
  if (!match || !isValid || list.at(-1) !== CLOSE_BRACE)
    throw new StoreError('contains a list of the wrong shape; ignored');
  return { json: list.subarray(head.length, -1), receivedAtMs, changedAtMs, acceptedAtMs };
};

const [CLOSE_BRACE] = Buffer.from('}');

const isTime = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= MAX_TIME_MS;

const digest = (data: string | Buffer): string => createHash('sha256').update(data).digest('base64url');

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
