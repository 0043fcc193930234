// Text from outside, for a log or a person's terminal: bounded, and with nothing in it that a terminal obeys.

/**
 * `text` with each control character, invisible one, or one that changes the direction of writing as its code, such as
 * `\u{1b}`: escape sequences could recolour a terminal, move its cursor or rename its window.
 */
export const printable = (text: string): string =>
  text.replaceAll(UNPRINTABLE, (char) => String.raw`\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);

/** Controls, formats (bidirectional ones among them), halves of surrogate pairs, private use, line and paragraph ends. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;

/** The first {@link MAX_NAMES} of `names`, {@link printable}, cut at {@link MAX_NAME_CHARS}; then how many more there are. */
export const listNames = (names: readonly string[]): string[] => [
  ...names.slice(0, MAX_NAMES).map((name) => printable(cut(name))),
  ...(names.length > MAX_NAMES ? [`… and ${names.length - MAX_NAMES} more`] : []),
];

const cut = (name: string): string =>
  name.length > MAX_NAME_CHARS ? `${name.slice(0, MAX_NAME_CHARS)}…` : name;

const MAX_NAMES = 50;
const MAX_NAME_CHARS = 64;
