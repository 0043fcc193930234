// Names of fields in messages: some are the provider's text.

/**
 * Whether a name that the provider chose may be shown to people and can stand in BANK_FIELDS:
 * letters, digits and a few signs. Anything else could be an escape sequence, or a text that is not
 * a name.
 */
export const isPlainName = (name: string): boolean =>
  /^[\p{L}\p{N}_.$@/-]{1,64}$/u.test(name) && name !== '__proto__';

/** A name as a message may show it. */
export const showName = (name: string): string =>
  isPlainName(name) ? name : '(a name that cannot be shown)';
