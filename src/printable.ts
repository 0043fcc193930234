// Text from outside made safe for a terminal and for the log: without characters that control a
// terminal, and names bounded.

/**
 * Replaces control characters, invisible ones and those that change the writing direction by their
 * code, such as `\u{1b}`. Escape sequences could recolour a terminal, move its cursor or rename its
 * window.
 */
export const printable = (text: string): string => text.replaceAll(UNPRINTABLE, toCode);

const toCode = (char: string): string => String.raw`\u{${(char.codePointAt(0) ?? 0).toString(16)}}`;

/**
 * Control, format (including bidirectional), lone surrogate, private-use, line and paragraph
 * separator characters.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;

/**
 * The first {@link MAX_NAMES} of `names`, made {@link printable}, and how many more there are:
 * `['code', 'na\u{1b}me', '… and 12 more']`. A name is never cut: what is left of a secret in it
 * would not be redacted.
 */
export const listNames = (names: readonly string[]): string[] => [
  ...names
    .slice(0, MAX_NAMES)
    .map((name) =>
      name.length > MAX_NAME_CHARS ? `(a name of ${name.length} characters)` : printable(name),
    ),
  ...(names.length > MAX_NAMES ? [`… and ${names.length - MAX_NAMES} more`] : []),
];

const MAX_NAMES = 50;
/** No name of a field that is collected is longer. */
const MAX_NAME_CHARS = 100;
