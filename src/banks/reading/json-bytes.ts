// JSON as bytes. Only ASCII characters matter here.

const [SPACE, TAB, LINE_FEED, CARRIAGE_RETURN] = Buffer.from(' \t\n\r');
export const [QUOTE, BACKSLASH, COMMA, OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] =
  Buffer.from('"\\,[]{}');

/**
 * The offset of the first value, after a byte order mark (RFC 8259 section 8.1) and white space.
 */
export const startOfValue = (json: Buffer): number =>
  afterSpace(json, hasByteOrderMark(json) ? 3 : 0);

const hasByteOrderMark = (json: Buffer): boolean =>
  json[0] === 0xef && json[1] === 0xbb && json[2] === 0xbf;

/** The index of the first byte from `index` on that is not white space (RFC 8259 section 2). */
export const afterSpace = (json: Buffer, index: number): number => {
  while (isSpace(json[index])) index += 1;
  return index;
};

const isSpace = (byte: number | undefined): boolean =>
  byte === SPACE || byte === LINE_FEED || byte === CARRIAGE_RETURN || byte === TAB;

/**
 * The index of the quote that ends the string which begins at `start`; where none does, one beyond
 * `last` or beyond the end of `json`, or the one after that.
 */
export const endOfString = (json: Buffer, start: number, last: number): number => {
  let index = start + 1;
  const end = Math.min(last + 1, json.length);
  while (index < end && json[index] !== QUOTE) index += json[index] === BACKSLASH ? 2 : 1;
  return index;
};
