import { createHash } from 'node:crypto';
import type { CachedList, SavedList } from '../banks/cached-list.ts';
import { CONTENT_CHARS } from '../banks/guard/memory.ts';
import { readList, type ListContract, type ReadOptions } from '../banks/reading/list-reader.ts';
import { wall } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { isJsonObject, parseJson } from '../json.ts';
import { MAX_METADATA_BYTES, readMetadata, writeMetadata } from './saved-metadata.ts';
import { isWholeUpTo, MAX_TIME_MS, toSavedTime, type Moment } from './saved-values.ts';
import { SIGNATURE_CHARS, type Signing } from './signing.ts';
import { StoreError } from './store-report.ts';

// The format of a saved list: versioned, tied to the configuration that produced it, with a
// checksum, and signed where there is a key. It contains the published banks and nothing else. What
// is read back is untrusted input: each part has a bound before it is parsed, the list goes through
// the same reader as the provider's answer, and is used only if it is byte for byte what this
// service would publish.
//
//     {"format":"banks-bff/list","version":1,"provenance":"…","checksum":"…"}
//     {"receivedAtMs":1767225600000,"changedAtMs":1767225600000,"banks":[…]}
//     {"id":"…","version":{…},"savedAtMs":1767225600000,"ageMs":120,"decisions":[…],"memory":[…],…}
//     signature
//
// The times of the third line (saved-metadata.ts) are durations, from the moment `savedAtMs` by the
// clock of the store, or of this machine in a snapshot. The previous release reads the first two
// lines. It wrote the same ones, and where it had something to remember, a third one of its own.

const FORMAT = 'banks-bff/list';
const ENVELOPE_VERSION = 1;

/**
 * A short identifier of the settings that a list depends on, equal where lists can be exchanged:
 * the provider, the place of the list in its answer, the published fields and the required ones.
 * None is a secret.
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
  readonly signing: Signing;
  /** A list that was saved in the future, by the clock that reads it, counts as older than this. */
  readonly ttlMs: number;
  /** Measures the slices in which a list is read; the system's unless given. */
  readonly clock?: ReadOptions['clock'];
}

export type Envelope = ReturnType<typeof createEnvelope>;

/** More than the header line and the times ever take. */
const MAX_HEADER_LINE_BYTES = 1024;
export const createEnvelope = (options: EnvelopeOptions) => {
  const { provenance, contract, signing, ttlMs, clock } = options;
  // Saved entries are already narrowed, so each field has its published name.
  const fields = contract.fields?.map(({ name }) => ({ name, from: name }));
  const maxBytes =
    contract.maxBytes + 2 * MAX_HEADER_LINE_BYTES + MAX_METADATA_BYTES + SIGNATURE_CHARS + 2;

  /** @throws {StoreError} */
  const checkHeader = (line: Buffer, list: Buffer): void => {
    const header = line.length <= MAX_HEADER_LINE_BYTES ? parseJson(line.toString()) : undefined;
    if (!isJsonObject(header) || header['format'] !== FORMAT)
      throw new StoreError('does not contain a saved list; ignored');
    if (header['version'] !== ENVELOPE_VERSION)
      throw new StoreError('contains a list saved by another version of this service; ignored');
    if (header['provenance'] !== provenance)
      throw new StoreError('contains a list saved with another configuration; ignored');
    if (header['checksum'] !== digest(list))
      throw new StoreError('contains a damaged list; ignored');
  };

  return {
    /** From {@link provenanceId}. */
    provenance,
    /** The largest envelope in bytes; a reader needs no more. */
    maxBytes,
    /** @throws {SecretFileError} if there is to be a signature, and no key is usable */
    seal: async (saved: CachedList, moment: Moment): Promise<Buffer> => {
      const { json, loadedAtWallMs, changedAtMs, decisions } = saved;
      const times = JSON.stringify({
        receivedAtMs: toSavedTime(loadedAtWallMs),
        changedAtMs: toSavedTime(changedAtMs),
        acceptedAtMs: decisions[0] && toSavedTime(decisions[0].madeAtWallMs),
      });
      const list = Buffer.concat([
        Buffer.from(`${times.slice(0, -1)},"banks":`),
        json,
        Buffer.from('}'),
      ]);
      // The checksum precedes the list, so a truncated list is detected without parsing it.
      const header = {
        format: FORMAT,
        version: ENVELOPE_VERSION,
        provenance,
        checksum: digest(list),
      };
      const sealed = Buffer.concat([
        Buffer.from(`${JSON.stringify(header)}\n`),
        list,
        Buffer.from(`\n${writeMetadata(saved, moment)}\n`),
      ]);
      return signing.sign('list', sealed);
    },
    /**
     * @throws {StoreError | LoadError} if it is damaged, foreign or not a valid list; the message
     *   says which
     * @throws {SecretFileError} if there should be a signature, and no key is usable
     */
    open: async (bytes: Buffer, moment: Moment): Promise<SavedList> => {
      if (bytes.length > maxBytes)
        throw new StoreError(`contains more than ${maxBytes} bytes; ignored`);
      const [headerLine, list, metadataLine] = split(await signing.verify('list', bytes));
      checkHeader(headerLine, list);
      const { json: savedJson, changedAtMs, ...times } = splitTimes(list);
      const id = digest(list).slice(0, CONTENT_CHARS);
      const metadata = readMetadata(metadataLine, { id, ...times }, moment, ttlMs);
      // What the reader counts besides is true of what the provider sent only.
      const { json, count, profile, entryDigests } = await readList(
        savedJson,
        { ...contract, fields, listPath: undefined },
        { clock },
      );
      // Otherwise this service did not write it: it has an entry or a field that would not be
      // published.
      if (!json.equals(savedJson)) throw new StoreError('contains an altered list; ignored');
      return { json, count, profile, entryDigests, ...metadata, changedAtMs: wall(changedAtMs) };
    },
  };
};

/** The header line, the bytes of the list, and the line with its metadata, which may be empty. */
const split = (bytes: Buffer): readonly [Buffer, Buffer, Buffer] => {
  const headerEnd = bytes.indexOf('\n');
  if (headerEnd === -1) return [EMPTY, EMPTY, EMPTY];
  const listEnd = bytes.indexOf('\n', headerEnd + 1);
  const end = listEnd === -1 ? bytes.length : listEnd;
  const metadataEnd = bytes.indexOf('\n', end + 1);
  return [
    bytes.subarray(0, headerEnd),
    bytes.subarray(headerEnd + 1, end),
    bytes.subarray(end + 1, metadataEnd === -1 ? bytes.length : metadataEnd),
  ];
};

const EMPTY = Buffer.alloc(0);

const TIMES =
  /^\{"receivedAtMs":(\d{1,16}),"changedAtMs":(\d{1,16}),(?:"acceptedAtMs":(\d{1,16}),)?"banks":/;

const splitTimes = (list: Buffer) => {
  const match = TIMES.exec(list.toString('latin1', 0, 128));
  if (!match || list.at(-1) !== CLOSE_BRACE) throw wrongShape();
  const [head, receivedAt, changedAt, acceptedAt] = match;
  const [receivedAtMs, changedAtMs] = [Number(receivedAt), Number(changedAt)];
  const acceptedAtMs = acceptedAt === undefined ? undefined : Number(acceptedAt);
  if (![receivedAtMs, changedAtMs, acceptedAtMs ?? 0].every((ms) => isWholeUpTo(MAX_TIME_MS, ms)))
    throw wrongShape();
  return { json: list.subarray(head.length, -1), receivedAtMs, changedAtMs, acceptedAtMs };
};

const wrongShape = (): StoreError => new StoreError('contains a list of the wrong shape; ignored');

const [CLOSE_BRACE] = Buffer.from('}');

const digest = (data: string | Buffer): string =>
  createHash('sha256').update(data).digest('base64url');
