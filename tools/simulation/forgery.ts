import { createHash } from 'node:crypto';

// What somebody without CACHE_SIGNING_KEY writes who knows the formats (src/sharing/README.md): all
// of it is well-formed, and only the signature is not that of the content.

/** The name of a bank that the provider never sent. */
const FORGED_NAME = '"BAD';
const AN_HOUR_MS = 3_600_000;

/** A saved list with another name in it, a lease with a failure that nobody had; or as it is. */
export const forged = (bytes: Buffer): Buffer => {
  const [first = '', ...rest] = bytes.toString().split('\n');
  if (first.includes('"checksum"')) return Buffer.from(forgedList(first, rest).join('\n'));
  if (first.includes('"heldUntilMs"')) return Buffer.from([forgedLease(first), ...rest].join('\n'));
  return bytes;
};

const forgedList = (header: string, [list = '', ...rest]: readonly string[]): string[] => {
  const content = list.replace('"BCO', FORGED_NAME);
  const checksum = createHash('sha256').update(content).digest('base64url');
  return [JSON.stringify({ ...JSON.parse(header), checksum }), content, ...rest];
};

const forgedLease = (line: string): string => {
  const lease = JSON.parse(line);
  const untilMs = lease.heldUntilMs + AN_HOUR_MS;
  return JSON.stringify({
    ...lease,
    failure: {
      id: 'forged',
      kind: 'unusable_entries',
      attempts: 1,
      failingSinceMs: lease.heldUntilMs,
      listId: '',
      retryAfterUntilMs: untilMs,
      retryAfterMinimumUntilMs: 0,
      retryAfterReceivedAtMs: lease.heldUntilMs,
    },
  });
};
