import type { DestinationStream } from 'pino';
import { isJsonObject, parseJson } from '../json.ts';
import { printable } from '../printable.ts';

// The log's lines as text, for a person to read on a terminal.

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
  let mark = Number(level) >= 40 ? 'WARN  ' : '';
  if (Number(level) >= 50) mark = 'ERROR  ';
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
    facts['managementUrl'] === undefined ? 'off' : `on ${format(facts['managementUrl'])}/`;
  const source = facts['restoredFrom'];
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
