/** Anything shorter than this is not looked for: it occurs in ordinary text. */
export const SHORTEST_FORM = 4;

/**
 * The texts to look for so that `secret` is found plain, and inside Base64 or base64url, also of what was percent- or
 * form-encoded before, as HTTP Basic asks for (RFC 6749 section 2.3.1).
 *
 *     s3cret/+  →  s3cret/+, and of aWQ6czNjcmV0Lys= (id:s3cret/+) the part czNjcmV0Lys
 */
export const formsOf = (secret: string): string[] => {
  const texts = new Set([secret, encodeURIComponent(secret), formEncode(secret), eagerFormEncode(secret)]);
  return [secret, ...[...texts].flatMap(base64Cores)];
};

const formEncode = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1);

/** As oauth4webapi does it: nothing but letters and digits stays. */
const eagerFormEncode = (text: string): string =>
  encodeURIComponent(text)
    .replaceAll(/[-_.!~*'()]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%20', '+');

/**
 * The part of `text`'s Base64 that does not depend on what stands around it, as the client id does before the secret
 * in `id:secret`: one for each of the three ways in which bytes can fall on groups of six bits.
 */
const base64Cores = (text: string): string[] => {
  const bytes = Buffer.from(text);
  return [0, 1, 2]
    .map((before) =>
      Buffer.concat([Buffer.alloc(before), bytes])
        .toString('base64')
        .slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6)),
    )
    .filter((core) => core.length >= SHORTEST_FORM);
};
