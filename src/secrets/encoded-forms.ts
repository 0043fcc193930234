/**
 * What to search for to find `secret` plain and in Base64, also when it was percent- or form-encoded first, as client
 * credentials are (RFC 6749 section 2.3.1). Other escapes are undone by `toPlainBytes`.
 *
 *     s3cret/+   plain
 *     czNjcmV0Lys   in Base64: aWQ6czNjcmV0Lys= is id:s3cret/+
 *     czNjcmV0JTJGJTJC   percent-encoded, in Base64: aWQ6czNjcmV0JTJGJTJC is id:s3cret%2F%2B
 */
export const formsOf = (secret: string): string[] => {
  const texts = new Set([secret, encodeURIComponent(secret), formEncode(secret), eagerFormEncode(secret)]);
  return [secret, ...[...texts].flatMap(base64Cores)];
};

const formEncode = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1);

/** As oauth4webapi does it: everything but letters and digits is encoded. */
const eagerFormEncode = (text: string): string =>
  encodeURIComponent(text)
    .replaceAll(/[-_.!~*'()]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%20', '+');

/**
 * The part of `text` in Base64 that does not depend on the bytes around it, such as the client id in `id:secret`: one for
 * each of the three positions of a byte in a Base64 group.
 */
const base64Cores = (text: string): string[] => {
  const bytes = Buffer.from(text);
  return [0, 1, 2].map((before) =>
    Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6)),
  );
};
