import { createHash } from 'node:crypto';
import type { KeptList } from '../banks/bank-list.ts';
import type { Bank } from '../banks/representation.ts';
import { StoreError } from './list-store.ts';

// The form in which a list is kept outside the process: versioned, tied to the configuration that made it, with a
// checksum. It holds the published banks and nothing else, and is read like any outside input.

const FORMAT = 'banks-bff/list';
/** Changed with every form that an older reader would misunderstand. */
export const ENVELOPE_VERSION = 1;

/** What a list must have been made with to be used here: names of settings, no secret. */
export interface Provenance {
  readonly environment: string;
  readonly baseUrl: URL;
  /** The published names and where each comes from; undefined: all. */
  readonly fields: readonly { readonly name: string; readonly from: string }[] | undefined;
  readonly requiredFields: readonly string[];
}

/** A short name for a configuration: equal where lists may be exchanged. */
export const provenanceId = ({ environment, baseUrl, fields, requiredFields }: Provenance): string =>
  digest(JSON.stringify([environment, baseUrl.href, fields ?? null, requiredFields])).slice(0, 22);

export const seal = (
  { banks, receivedAtMs, changedAtMs, acceptedAtMs }: KeptList,
  provenance: string,
): string => {
  const list = JSON.stringify({ receivedAtMs, changedAtMs, acceptedAtMs, banks });
  // The checksum stands before what it covers, and the list is last: a torn end is found without parsing it.
  const head = { format: FORMAT, version: ENVELOPE_VERSION, provenance, checksum: digest(list) };
  return `${JSON.stringify(head)}\n${list}\n`;
};

/** @throws {StoreError} that says what is wrong with the envelope */
export const open = (text: string, provenance: string): KeptList => {
  const [headText = '', list = ''] = text.split('\n', 2);
  const head = parse(headText);
  if (!isRecord(head) || head['format'] !== FORMAT)
    throw new StoreError('holds something else than a list; ignored');
  if (head['version'] !== ENVELOPE_VERSION)
    throw new StoreError('holds a list of another version of this service; ignored');
  if (head['provenance'] !== provenance)
    throw new StoreError('holds a list made with another configuration; ignored');
  if (head['checksum'] !== digest(list)) throw new StoreError('holds a damaged list; ignored');
  const kept = parse(list);
  if (!isKeptList(kept)) throw new StoreError('holds a list of the wrong shape; ignored');
  return kept;
};

const digest = (text: string): string => createHash('sha256').update(text).digest('base64url');

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isBank = (value: unknown): value is Bank => isRecord(value);

const isKeptList = (value: unknown): value is KeptList =>
  isRecord(value) &&
  Number.isSafeInteger(value['receivedAtMs']) &&
  Number.isSafeInteger(value['changedAtMs']) &&
  (value['acceptedAtMs'] === undefined || Number.isSafeInteger(value['acceptedAtMs'])) &&
  Array.isArray(value['banks']) &&
  value['banks'].every(isBank);
