import { createHash } from 'node:crypto';
import { isJsonObject, parseJson } from '../../src/json.ts';

// What the previous release would have saved of a list that this one has saved
// (src/sharing/envelope.ts). It signed nothing, remembered of the lists before only how many
// entries they had, and told ages by wall clocks: here, by the one that the list is read with.

export interface PreviousFormat {
  /** Its name in Redis. */
  readonly key: string;
  readonly bytes: Buffer;
  /** Of the operator's decision that is kept with it. */
  readonly requestId: string | undefined;
}

/** The third line, as far as it is needed. */
interface Metadata {
  readonly savedAtMs: number;
  readonly ageMs: number;
  readonly decisions: readonly { readonly reasons: unknown; readonly requestId: string }[];
  readonly memory: readonly {
    readonly content: string;
    readonly count: number;
    readonly lastAgeMs: number;
  }[];
}

/** Two clocks that differ by less are one: what was written with both stays the same. */
const ONE_CLOCK_MS = 1_000;

/** Undefined if it is damaged. */
export const toPreviousFormat = (bytes: Buffer): PreviousFormat | undefined => {
  const [first = '', list = '', third = ''] = bytes.toString().split('\n');
  const header = parseJson(first);
  const metadata = third === '' ? {} : parseJson(third);
  const checksum = createHash('sha256').update(list).digest('base64url');
  if (!isJsonObject(header) || header['checksum'] !== checksum || !isJsonObject(metadata))
    return undefined;
  const key = `banks-bff:1:${String(header['provenance'])}:list`;
  // What has come from the previous release is written back as it was read.
  if (!('savedAtMs' in metadata)) return { key, bytes, requestId: requestIdIn(metadata) };
  const { savedAtMs, ageMs, decisions, memory } = metadata as unknown as Metadata;
  const receivedAtMs = Number(/\d+/.exec(list)?.[0]);
  const aheadMs = savedAtMs - ageMs - receivedAtMs;
  const shiftMs = Math.abs(aheadMs) < ONE_CLOCK_MS ? 0 : aheadMs;
  const moved = list.replaceAll(
    /"(receivedAtMs|acceptedAtMs)":(\d+)/g,
    (_time, name: string, ms: string) => `"${name}":${Number(ms) + shiftMs}`,
  );
  const [decision] = decisions.map(({ reasons, requestId }) => ({ reasons, requestId }));
  const earlier = memory.map(({ content, count, lastAgeMs }) => ({
    content,
    count,
    heldUntilMs: savedAtMs - lastAgeMs,
  }));
  const lines = [
    JSON.stringify({
      ...header,
      checksum: createHash('sha256').update(moved).digest('base64url'),
    }),
    moved,
    ...(decision || earlier.length > 0 ? [JSON.stringify({ earlier, decision })] : []),
    '',
  ];
  return { key, bytes: Buffer.from(lines.join('\n')), requestId: decision?.requestId };
};

const requestIdIn = ({ decision }: { readonly decision?: unknown }): string | undefined =>
  isJsonObject(decision) ? String(decision['requestId']) : undefined;
