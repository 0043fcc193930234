import type { DestinationStream } from 'pino';
import { isJsonObject, parseJson } from '../json.ts';

// Text for a terminal: the log's lines for a person to read, and text from outside made safe,
// bounded and without characters that control a terminal.

/**
 * Writes each JSON line to `destination` as text. Terminal escape sequences in a line are made
 * harmless.
 */
export const pretty = <D extends DestinationStream>(destination: D): D => ({
  ...destination,
  write: (line: string) => destination.write(toPrettyText(line)),
});

const toPrettyText = (line: string): string => {
  const entry = parseJson(line);
  if (!isJsonObject(entry)) return `${printable(line.trimEnd())}\n`;
  const { level, severity: _, time, msg, ...facts } = entry;
  const timeOfDay = String(time).slice(11, 19);
  const mark = Number(level) >= 50 ? 'ERROR  ' : Number(level) >= 40 ? 'WARN  ' : '';
  if (msg === 'listening') return indent(timeOfDay, describeStart(facts));
  const details = Object.entries(facts).map(([name, value]) => `${name}=${format(value)}`);
  return indent(timeOfDay, [[`${mark}${String(msg)}`, ...details].join('  ')]);
};

/**
 * The facts of `listening` in three lines: the addresses, the configuration, and where the list
 * comes from.
 */
const describeStart = (facts: Readonly<Record<string, unknown>>): string[] => {
  const management =
    facts['operatorsUrl'] === undefined ? 'off' : `on ${format(facts['operatorsUrl'])}/`;
  const source = facts['lastGoodList'];
  const list =
    source === 'none'
      ? 'no saved list, loading from the provider'
      : `list restored from ${format(source)}`;
  return [
    `banks-bff ${format(facts['version'])} is listening on ${format(facts['url'])}/banks; management port ${management}`,
    `environment: ${format(facts['environment'])}; token from ${format(facts['token'])}; fields: ${format(facts['fields'])}`,
    list,
  ];
};

const indent = (timeOfDay: string, lines: readonly string[]): string =>
  lines
    .map((text, index) => `${index === 0 ? timeOfDay : ' '.repeat(8)}  ${printable(text)}\n`)
    .join('');

const format = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value);

/**
 * Replaces control characters, invisible ones and those that change the writing direction by their
 * code, such as `\u{1b}`; after the first {@link MAX_CODES} by `\ufffd`, since that is no text for
 * people. Escape sequences could recolour a terminal, move its cursor or rename its window.
 */
export const printable = (text: string): string => {
  let end = 0;
  UNPRINTABLE.lastIndex = 0;
  for (let count = 0; count < MAX_CODES && UNPRINTABLE.test(text); count += 1)
    end = UNPRINTABLE.lastIndex;
  return (
    text.slice(0, end).replaceAll(UNPRINTABLE, toCode) +
    text.slice(end).replaceAll(UNPRINTABLE, '\ufffd')
  );
};

const toCode = (char: string): string => String.raw`\u{${(char.codePointAt(0) ?? 0).toString(16)}}`;

/** Each takes far longer than a character that is printed as it is. */
const MAX_CODES = 50;

/**
 * Control, format (including bidirectional), lone surrogate, private-use, line and paragraph
 * separator characters.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;

/**
 * The first {@link MAX_NAMES} of `names`, made {@link printable} and cut at {@link MAX_NAME_CHARS},
 * and how many more there are: `['code', 'na\u{1b}me', '… and 12 more']`.
 */
export const listNames = (names: readonly string[]): string[] => [
  ...names.slice(0, MAX_NAMES).map((name) => printable(cut(name))),
  ...(names.length > MAX_NAMES ? [`… and ${names.length - MAX_NAMES} more`] : []),
];

const cut = (name: string): string =>
  name.length > MAX_NAME_CHARS ? `${name.slice(0, MAX_NAME_CHARS)}…` : name;

const MAX_NAMES = 50;
const MAX_NAME_CHARS = 64;
