import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { isId, type SavedList } from '../banks/fleet.ts';
import type { FreshnessPolicy } from '../banks/freshness.ts';
import { MAX_KNOWN, type Marks } from '../banks/guard.ts';
import type { CachedList } from '../banks/cached-list.ts';
import { LoadError } from '../banks/load-error.ts';
import { NOTHING_REJECTED, type RejectionReason } from '../banks/reading/entry.ts';
import { MAX_LIST_ENTRIES, readList, type ReadRules } from '../banks/reading/list-reader.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { parseJson } from '../json.ts';
import { StoreError } from './store-report.ts';

// The format of a saved list, in Redis and in the snapshot:
//
//     banks-bff/3 <id> <HMAC-SHA-256 with CACHE_SIGNING_KEY; without one SHA-256>
//     {"namespace":"…","askedAtMs":1767225600000,"changedAtMs":1767225600000,"marks":{…},…}
//     [{"code":"001",…},…]
//
// What is read back is untrusted: each part has a bound before it is parsed, and the list must come
// out of the reader byte for byte as it went in. Whether a list can be opened depends on nothing
// that is not in the namespace; otherwise two replicas could overwrite each other's lists for ever.

/**
 * Every saved list begins with this; the id follows. Its number changes with the format, and with
 * the rules of opening.
 */
const ENVELOPE_START = 'banks-bff/3 ';
/** The bytes of the id, the first and the last. */
export const ID_BYTES = [ENVELOPE_START.length, ENVELOPE_START.length + 21] as const;
export const MAX_ENVELOPE_BYTES = 32 * 1024 * 1024;
const MAX_FIRST_LINE_BYTES = 128;
const MAX_METADATA_BYTES = 64 * 1024;
/** A list from further in the future counts as stale: one of the two clocks is wrong. */
const MAX_AHEAD_MS = 1_000;

export interface EnvelopeOptions {
  readonly provider: Pick<Config['provider'], 'environment' | 'baseUrl'>;
  readonly banks: ReadRules;
  readonly policy: FreshnessPolicy;
  /** Gives the key; undefined: nothing is signed. */
  readonly readKey: (() => Promise<string>) | undefined;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

export type Envelope = ReturnType<typeof createEnvelope>;

export const createEnvelope = (options: EnvelopeOptions) => {
  const { provider, banks, policy, readKey, clock } = options;
  // Saved entries are already narrowed, so each field has its published name.
  const fields = banks.fields?.map(({ name }) => ({ name, from: name }));
  const rules: ReadRules = { fields, requiredFields: banks.requiredFields };

  const macOf = async (id: string, rest: Buffer): Promise<string> => {
    const mac = readKey ? createHmac('sha256', await readKey()) : createHash('sha256');
    return mac.update(`${id}\n`).update(rest).digest('base64url');
  };

  /** Differs where lists cannot be exchanged. No setting in it is a secret, and the key is hashed. */
  const namespace = async (): Promise<string> => {
    const keyId =
      readKey &&
      createHmac('sha256', await readKey())
        .update('id')
        .digest('base64url');
    const { listPath, requiredFields } = banks;
    const settings = [
      ENVELOPE_START,
      provider.environment,
      provider.baseUrl.href,
      listPath,
      banks.fields,
      requiredFields,
      keyId,
    ];
    const hash = createHash('sha256').update(JSON.stringify(settings));
    return hash.digest('base64url').slice(0, 16);
  };

  /** How old a list is that was asked for at `askedAtMs`, by a clock that says `nowMs`. */
  const ageOf = (askedAtMs: number, nowMs: number): number => {
    const ageMs = nowMs - askedAtMs;
    return ageMs < -MAX_AHEAD_MS ? policy.ttlMs + 1 : Math.max(0, ageMs);
  };

  return {
    namespace,
    /** @param nowMs by the clock that the reader will have: that of Redis, or the wall clock */
    seal: async (list: CachedList, nowMs: number): Promise<Buffer> => {
      const header = headerOf(list, nowMs - (clock.monotonicMs() - list.askedAtMs));
      const rest = Buffer.concat([
        Buffer.from(`${JSON.stringify({ namespace: await namespace(), ...header })}\n`),
        list.representations.identity.body,
      ]);
      const firstLine = `${ENVELOPE_START}${list.id} ${await macOf(list.id, rest)}\n`;
      return Buffer.concat([Buffer.from(firstLine), rest]);
    },
    /**
     * @param nowMs see `seal`
     * @throws {StoreError} if it is damaged, not signed or of another configuration; the message
     *   says which
     */
    open: async (bytes: Buffer, nowMs: number): Promise<SavedList> => {
      if (bytes.length > MAX_ENVELOPE_BYTES) throw new StoreError('has a list that is too large');
      const [firstLine, rest] = splitLine(bytes, MAX_FIRST_LINE_BYTES);
      const { id = '', mac = '' } = FIRST_LINE.exec(firstLine.toString('latin1'))?.groups ?? {};
      if (!isId(id)) throw damaged();
      const expected = Buffer.from(await macOf(id, rest));
      const found = Buffer.from(mac);
      if (found.length !== expected.length || !timingSafeEqual(found, expected))
        throw readKey
          ? new StoreError('has a list that is not signed with the signing key; ignored')
          : damaged();
      const [headerLine, json] = splitLine(rest, MAX_METADATA_BYTES);
      const header = HEADER.safeParse(parseJson(headerLine.toString())).data;
      if (!header) throw damaged();
      const { namespace: savedIn, askedAtMs: savedAtMs, marks, ...facts } = header;
      if (savedIn !== (await namespace()))
        throw new StoreError('has a list that was saved with another configuration; ignored');
      const askedAtMs = clock.monotonicMs() - ageOf(savedAtMs, nowMs);
      return {
        ...contentOf(json, rules),
        // Entries were rejected before it was saved.
        ...facts,
        id,
        askedAtMs,
        marks: toMarks(marks, askedAtMs),
      };
    },
  };
};

const FIRST_LINE = new RegExp(`^${ENVELOPE_START}(?<id>\\d{22}) (?<mac>[\\w-]{43})$`);

const damaged = (): StoreError =>
  new StoreError('has a damaged list, or one of another version; ignored');

/** The bytes before and after the first line break; nothing before it where that is too far on. */
const splitLine = (bytes: Buffer, maxBytes: number): readonly [Buffer, Buffer] => {
  const end = bytes.subarray(0, maxBytes).indexOf('\n');
  return end === -1 ? [Buffer.alloc(0), bytes] : [bytes.subarray(0, end), bytes.subarray(end + 1)];
};

/** @throws {StoreError} unless it is what this service would publish */
const contentOf = (saved: Buffer, rules: ReadRules) => {
  try {
    const list = readList(saved, rules);
    if (list.json.equals(saved)) return list;
  } catch (error) {
    if (!(error instanceof LoadError)) throw error;
  }
  throw new StoreError('has a list that this service would not publish; ignored');
};

const WALL_TIME = z.number().min(0).max(Date.UTC(9999, 0));
const COUNT = z.int().min(0).max(MAX_LIST_ENTRIES);

const ENTRIES = COUNT.default(0);
const REJECTED = {
  not_an_object: ENTRIES,
  required_field: ENTRIES,
  nothing_published: ENTRIES,
  object_value: ENTRIES,
  altered_number: ENTRIES,
  duplicate: ENTRIES,
} as const satisfies Record<RejectionReason, unknown>;

/** Members that are not known are left out; those with a default may be missing. */
const HEADER = z.object({
  namespace: z.string().max(16),
  askedAtMs: WALL_TIME,
  changedAtMs: WALL_TIME,
  hasNextPage: z.boolean().default(false),
  rejected: z.object(REJECTED).default(NOTHING_REJECTED),
  marks: z.object({
    /** How long before the request for the list they began. */
    ageMs: z.number().min(0).max(1e15),
    count: COUNT,
    shares: z.record(z.string(), z.number().min(0).max(1)),
  }),
  known: z.array(z.string().max(22)).max(MAX_KNOWN).readonly().default([]),
});

type Header = z.infer<typeof HEADER>;

const headerOf = (list: CachedList, askedAtMs: number): Omit<Header, 'namespace'> => {
  const { changedAtMs, hasNextPage, rejected, marks, known } = list;
  const header = {
    askedAtMs: Math.max(0, Math.round(askedAtMs)),
    changedAtMs: Math.max(0, Math.round(changedAtMs)),
    hasNextPage,
    rejected,
    known,
    marks: {
      ageMs: Math.max(0, list.askedAtMs - marks.sinceMs),
      count: marks.count,
      shares: Object.fromEntries(marks.shares),
    },
  };
  // Without BANK_FIELDS the provider may send hundreds of fields: then only the process remembers
  // how well they were filled.
  return JSON.stringify(header).length < MAX_METADATA_BYTES / 4
    ? header
    : { ...header, marks: { ...header.marks, shares: {} } };
};

const toMarks = ({ ageMs, count, shares }: Header['marks'], askedAtMs: number): Marks => ({
  sinceMs: askedAtMs - ageMs,
  count,
  shares: new Map(Object.entries(shares)),
});
