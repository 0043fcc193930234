import type { DestinationStream } from 'pino';
import { printable } from './printable.ts';

// The log for a person at a terminal: the same lines as elsewhere, in words instead of JSON.

/** `destination`, which is given each line of JSON as text for people. No escape sequence of others reaches it. */
export const pretty = <D extends DestinationStream>(destination: D): D => ({
  ...destination,
  write: (line: string) => destination.write(toText(line)),
});

const toText = (line: string): string => {
  const entry = parse(line);
  if (!entry) return `${printable(line.trimEnd())}\n`;
  const { level, time, msg, ...facts } = entry;
  const clockTime = String(time).slice(11, 19);
  const mark = Number(level) >= 50 ? 'ERROR  ' : Number(level) >= 40 ? 'WARN  ' : '';
  if (msg === 'listening') return indent(clockTime, start(facts));
  const details = Object.entries(facts).map(([name, value]) => `${name}=${say(value)}`);
  return indent(clockTime, [[`${mark}${String(msg)}`, ...details].join('  ')]);
};

/** What somebody who has just started the service wants to know. */
const start = (facts: Readonly<Record<string, unknown>>): string[] => {
  const operators =
    facts['operatorsUrl'] === undefined
      ? 'there is no operators’ listener'
      : `for operators: ${say(facts['operatorsUrl'])}/`;
  const kept = facts['lastGoodList'];
  return [
    `banks-bff ${say(facts['version'])} serves ${say(facts['url'])}/banks; ${operators}`,
    `${say(facts['environment'])}; token by ${say(facts['token'])}; fields: ${say(facts['fields'])}`,
    `last good list: ${kept === 'none' ? 'none was kept; the provider is asked' : `from ${say(kept)}`}`,
  ];
};

const indent = (clockTime: string, lines: readonly string[]): string =>
  lines.map((text, index) => `${index === 0 ? clockTime : ' '.repeat(8)}  ${printable(text)}\n`).join('');

const say = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

const parse = (line: string): Readonly<Record<string, unknown>> | undefined => {
  try {
    const entry: unknown = JSON.parse(line);
    return typeof entry === 'object' && entry !== null ? { ...entry } : undefined;
  } catch {
    return undefined;
  }
};
