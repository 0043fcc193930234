// How counts, and texts that are not ours, are shown to people.

/** `1 entry`, `2 entries`: a count as a person reads it. */
export const formatCount = (count: number, singular: string, plural: string): string =>
  `${count} ${count === 1 ? singular : plural}`;

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
