import { createHash } from 'node:crypto';
import type { KeptList } from '../banks/cached-list.ts';
import { readList, type ListContract } from '../banks/reading/list-reader.ts';
import { StoreError } from './list-store.ts';

// The form in which a list is kept outside the process: versioned, tied to the configuration that made it, with a
// checksum. It holds the published banks and nothing else. What comes back is outside input: its list is read by the same
// code as the provider's, and only what this service itself would publish is used.

const FORMAT = 'banks-bff/list';
/** Changed with every form that an older reader would misunderstand. */
export const ENVELOPE_VERSION = 1;

/** What a list must have been made with to be used here: names of settings, no secret. */
export interface Provenance {
  readonly environment: string;
  readonly baseUrl: URL;
  /** The published names and where each comes from; undefined: all. */
  readonly fields: ListContract['fields'];
  readonly requiredFields: readonly string[];
}

/** A short name for a configuration: equal where lists may be exchanged. */
export const provenanceId = ({ environment, baseUrl, fields, requiredFields }: Provenance): string =>
  digest(JSON.stringify([environment, baseUrl.href, fields ?? null, requiredFields])).slice(0, 22);

export interface EnvelopeOptions {
  /** See {@link provenanceId}. */
  readonly provenance: string;
  /** As for the provider's lists. */
  readonly contract: ListContract;
}

export interface Envelope {
  /** The most bytes that one can have; a reader needs no more. */
  readonly maxBytes: number;
  /** @param lifeMs how long after the provider sent the list the store drops it, where it does */
  seal(list: KeptList, lifeMs?: number): Buffer;
  /** @throws {StoreError | LoadError} that says what is wrong with it */
  open(bytes: Buffer): Promise<Opened>;
}

export interface Opened {
  readonly list: KeptList;
  readonly lifeMs: number | undefined;
}

/** The head and the times, with room to spare. */
const MAX_HEAD_BYTES = 1024;
/** The last moment that ISO 8601 writes with a year of four digits. */
const MAX_TIME_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

export const createEnvelope = ({ provenance, contract }: EnvelopeOptions): Envelope => {
  // A published field comes from the entry's field of the same name here.
  const fields = contract.fields?.map(({ name }) => ({ name, from: name }));
  const maxBytes = contract.maxBytes + 2 * MAX_HEAD_BYTES;
  return {
    maxBytes,
    seal: ({ json, receivedAtMs, changedAtMs, acceptedAtMs }, lifeMs) => {
      const times = JSON.stringify({ receivedAtMs, changedAtMs, acceptedAtMs });
      const list = Buffer.concat([Buffer.from(`${times.slice(0, -1)},"banks":`), json, Buffer.from('}')]);
      // The checksum stands before what it covers, and the list is last: a torn end is found without parsing it.
      const head = { format: FORMAT, version: ENVELOPE_VERSION, provenance, checksum: digest(list), lifeMs };
      return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), list, Buffer.from('\n')]);
    },
    open: async (bytes) => {
      if (bytes.length > maxBytes) throw tooLarge(maxBytes);
      const [head, list] = split(bytes);
      if (head?.['format'] !== FORMAT) throw new StoreError('holds something else than a list; ignored');
      if (head['version'] !== ENVELOPE_VERSION)
        throw new StoreError('holds a list of another version of this service; ignored');
      if (head['provenance'] !== provenance)
        throw new StoreError('holds a list made with another configuration; ignored');
      if (head['checksum'] !== digest(list)) throw new StoreError('holds a damaged list; ignored');
      const { json, ...times } = splitList(list);
      const read = await readList(json, { ...contract, fields });
      // Anything else was not written by this service: an entry that it rejects, a field that it does not publish.
      if (!read.json.equals(json)) throw new StoreError('holds a list that was altered; ignored');
      const lifeMs = isTime(head['lifeMs']) ? head['lifeMs'] : undefined;
      return { list: { ...read, ...times }, lifeMs };
    },
  };
};

export const tooLarge = (maxBytes: number): StoreError =>
  new StoreError(`holds more than ${maxBytes} bytes; ignored`);

/** The head, undefined where it is not a JSON object, and the bytes of the list. */
const split = (bytes: Buffer): readonly [Readonly<Record<string, unknown>> | undefined, Buffer] => {
  const headEnd = bytes.subarray(0, MAX_HEAD_BYTES).indexOf('\n');
  const end = bytes.indexOf('\n', headEnd + 1);
  const head = headEnd > 0 ? parse(bytes.toString('utf8', 0, headEnd)) : undefined;
  return [isRecord(head) ? head : undefined, bytes.subarray(headEnd + 1, end === -1 ? undefined : end)];
};

const LIST_HEAD =
  /^\{"receivedAtMs":(\d{1,16}),"changedAtMs":(\d{1,16}),(?:"acceptedAtMs":(\d{1,16}),)?"banks":/;

const splitList = (
  list: Buffer,
): Pick<KeptList, 'json' | 'receivedAtMs' | 'changedAtMs' | 'acceptedAtMs'> => {
  const match = LIST_HEAD.exec(list.toString('latin1', 0, 128));
  const [head = '', receivedAt, changedAt, acceptedAt] = match ?? [];
  const [receivedAtMs, changedAtMs] = [Number(receivedAt), Number(changedAt)];
  const acceptedAtMs = acceptedAt === undefined ? undefined : Number(acceptedAt);
  const isRight = isTime(receivedAtMs) && isTime(changedAtMs) && isTime(acceptedAtMs ?? 0);
  if (!match || !isRight || list.at(-1) !== CLOSE_BRACE)
    throw new StoreError('holds a list of the wrong shape; ignored');
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

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
