import { createHash } from 'node:crypto';

// The published list as bytes, with the validator that names them. Made once for each new list, never per request.

/** One bank as browsers see it: the published fields, with the provider's values. */
export type Bank = Readonly<Record<string, unknown>>;

export interface Representation {
  readonly body: Buffer;
  /** A strong validator (RFC 9110 section 8.8.3), quotes included; equal wherever the same list is held. */
  readonly etag: string;
}

/** Encodes a list that has been checked and narrowed. */
export const represent = (banks: readonly Bank[]): Representation => {
  const body = Buffer.from(JSON.stringify(banks));
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`;
  return { body, etag };
};
