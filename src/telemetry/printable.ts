// Makes text from outside safe for a log or a terminal: bounded, and without characters that control a terminal.

/**
 * Replaces control characters, invisible ones and those that change the writing direction by their code, such as
 * `\u{1b}`. Escape sequences could recolour a terminal, move its cursor or rename its window.
 */
export const printable = (text: string): string =>
  text.replaceAll(UNPRINTABLE, (char) => String.raw`\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);

/** Control, format (including bidirectional), lone surrogate, private-use, line and paragraph separator characters. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;

/**
 * The first {@link MAX_NAMES} of `names`, made {@link printable} and cut at {@link MAX_NAME_CHARS}, and how many more there
 * are: `['code', 'na\u{1b}me', '… and 12 more']`.
 */
export const listNames = (names: readonly string[]): string[] => [
  ...names.slice(0, MAX_NAMES).map((name) => printable(cut(name))),
  ...(names.length > MAX_NAMES ? [`… and ${names.length - MAX_NAMES} more`] : []),
];

const cut = (name: string): string =>
  name.length > MAX_NAME_CHARS ? `${name.slice(0, MAX_NAME_CHARS)}…` : name;

const MAX_NAMES = 50;
const MAX_NAME_CHARS = 64;
