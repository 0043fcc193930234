/**
 * `text` with a percent-escape for each character that a server which decodes forms would not read
 * as it stands, or that separates the id from the secret in HTTP Basic. RFC 6749 section 2.3.1
 * wants more signs escaped; but many servers do not decode, and for those a UUID, or a secret in
 * Base64 without a plus sign, must stay as it is.
 */
export const escapeForForms = (text: string): string =>
  // A lone surrogate cannot be encoded; a buffer replaces it.
  Buffer.from(text)
    .toString()
    .replaceAll(/[^\w.~!$'()*,/=@-]+/gu, encodeURIComponent);
