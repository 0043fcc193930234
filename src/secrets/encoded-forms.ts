import { escapeForForms } from '../form-escapes.ts';

/**
 * How `secret` may be written by programs that send or print it: as it is, JSON-escaped once or
 * twice, percent- or form-encoded, and in Base64 or base64url. Encodings of single letters and
 * digits are not included.
 *
 *     s3cret/+             as it is
 *     s3cret%2F%2B         percent-encoded (in lower case: s3cret%2f%2b)
 *     czNjcmV0Lys          in Base64: aWQ6czNjcmV0Lys= is id:s3cret/+
 *     czNjcmV0JTJGJTJC     percent-encoded, in Base64, as client credentials are (RFC 6749 section 2.3.1)
 */
export const encodedForms = (secret: string): readonly string[] => {
  // A lone surrogate cannot be encoded; a buffer replaces it.
  const text = Buffer.from(secret).toString();
  const percentEncoded = encodeURIComponent(text);
  const formEncoded = new URLSearchParams([['', text]]).toString().slice(1);
  // As some clients do it: everything but letters and digits is encoded.
  const eagerlyEncoded = percentEncoded
    .replaceAll(/[-_.!~*'()]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%20', '+');
  const encoded = [text, percentEncoded, formEncoded, eagerlyEncoded, escapeForForms(text)];
  const inLowerCase = encoded.map((form) =>
    form.replaceAll(/(?:%..)+/g, (codes) => codes.toLowerCase()),
  );
  const base64 = encoded.flatMap(base64Cores);
  // A secret that is Base64 itself, such as a key, may be written in base64url too.
  const base64url = [text.replace(/={1,2}$/, ''), ...base64].map((form) =>
    form.replaceAll('+', '-').replaceAll('/', '_'),
  );
  const plain = [secret, ...encoded, ...inLowerCase, ...base64, ...base64url];
  const once = plain.map(escapeForJson);
  const withSlashes = plain.map((form) => escapeForJson(form).replaceAll('/', '\\/'));
  return [...new Set([...plain, ...once, ...once.map(escapeForJson), ...withSlashes])];
};

/** `text` as it is between the quotes of a JSON text. */
export const escapeForJson = (text: string): string => JSON.stringify(text).slice(1, -1);

/**
 * The part of `text` in Base64 that does not depend on the bytes around it, such as the client id
 * in `id:secret`: one for each of the three positions of a byte in a Base64 group.
 */
const base64Cores = (text: string): string[] => {
  const bytes = Buffer.from(text);
  return [0, 1, 2].map((before) =>
    Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6)),
  );
};
