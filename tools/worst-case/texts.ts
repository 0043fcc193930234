import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import emulatorBanks from '#emulator-banks.json' with { type: 'json' };
import { readList } from '../../src/banks/reading/list-reader.ts';
import { checkConfig } from '../../src/config/environment.ts';
import { VARIABLE_NAMES, VARIABLES } from '../../src/config/variables.ts';
import { parseHttpDate } from '../../src/http-date.ts';
import { nearestName } from '../../src/nearest-name.ts';
import { labelProblem } from '../../src/provider/contract.ts';
import { createRedaction } from '../../src/secrets/redaction.ts';
import { printable } from '../../src/telemetry/pretty.ts';
import { compare, costHere } from './measure.ts';
import type { Result } from './report.ts';
import { NUMBERED, PLAIN, SHAPES, type Shape } from './shapes.ts';

// Where other texts enter: the functions that read what the provider, a file or a person has
// written.

interface TextPlace {
  readonly name: string;
  /** Longest text, in characters. */
  readonly longest: number;
  readonly plain?: Shape;
  readonly shapes: readonly Shape[];
  /**
   * What reading a character may cost; a third of the limit. For the provider's and a client's a
   * few passes over it.
   */
  readonly usPerChar?: number;
  readonly read: (text: string) => unknown;
}

/**
 * The operator's own text, read at the start: only what grows faster than its length is a mistake.
 */
const OWN_US_PER_CHAR = 0.3;

/** A JSON list of `entry`, as often as fits. */
const listOf = (entry: (index: number) => string, name: string): Shape => ({
  name,
  text: (length) =>
    `[${NUMBERED((index) => `${entry(index)},`, name)
      .text(length - 2)
      .slice(0, -1)}]`,
});

const SHORT_ENTRIES = listOf((index) => `{"code":"${index}"}`, 'entries of a field');

const LISTS: readonly Shape[] = [
  SHORT_ENTRIES,
  listOf(() => '{}', '{}'),
  listOf(() => '[]', '[]'),
  listOf(() => '0', 'numbers'),
  listOf(() => '""', 'empty texts'),
  listOf((index) => `{"code":"${index}","x":${'['.repeat(28)}${']'.repeat(28)}}`, 'nested arrays'),
  listOf((index) => `{"code":"${index}","x":1.0000000000000001}`, 'long numbers'),
  listOf((index) => `{"code":"${index}","x":"${'\\u0041'.repeat(100)}"}`, 'escapes'),
  listOf((index) => `{"code":"${index}","x":"${'\\"'.repeat(100)}"}`, 'quotes'),
  listOf((index) => `{"code":"${index}","x":[${'0,'.repeat(1_000)}0]}`, 'long arrays'),
  listOf((index) => `{"code":"${index}","x":"${'1'.repeat(1_000)}"}`, 'digits'),
  listOf((index) => `{"code":${'0.0'.padEnd(1_000, '0')}${index}}`, 'numbers of 1,000 digits'),
  listOf((index) => `{"${index}a":1,"${index}b":2,"${index}c":3}`, 'a new name in each entry'),
  listOf(() => '{"code":"1"}', 'the same entry'),
  listOf((index) => `{"code":"${' '.repeat(500)}${index}"}`, 'blanks'),
];

/** Lines, as a file of variables has them. */
const LINES: readonly Shape[] = [
  ...[
    'a\n',
    'A=\n',
    '=\n',
    'A="\n',
    "A='\n",
    'export \n',
    '#\n',
    '\n',
    'A="a\n"\n',
    'PORT_A\n',
  ].map((unit): Shape => ({
    name: JSON.stringify(unit),
    text: (length) => unit.repeat(length / unit.length),
  })),
  NUMBERED((index) => `PROVIDER_${index}=1\n`, 'unknown variables'),
  NUMBERED((index) => `CORS_ORIGIN${index % 1_000}=1\n`, 'near misses'),
  NUMBERED((index) => `A${index}="${'x'.repeat(50)}\n`, 'quotes that do not end'),
];

const banks = emulatorBanks.map(({ ispb, code, name }) => ({
  id: ispb,
  code: code ?? '',
  name,
  entry: { id: ispb, code: code ?? '', name },
}));
/** The bank picker is a package of its own, in JavaScript. */
const loadSearch = async (): Promise<(query: string) => unknown> => {
  const module: { createSearch: (entries: typeof banks) => (query: string) => unknown } =
    await import(pathToFileURL(resolve('packages/bank-picker/search.js')).href);
  return module.createSearch(banks);
};

/** A bank as people type it, again and again: every word is looked up, too. */
const PLAIN_QUERY: Shape = {
  name: 'plain',
  text: (length) => 'banco do brasil itau santander nubank caixa '.repeat(4).slice(0, length),
};

const redaction = (secret: string): ((text: string) => string) => {
  const { addSecret, redact } = createRedaction();
  addSecret('SECRET', secret);
  return redact;
};

const placesIn = (directory: string, search: (query: string) => unknown): readonly TextPlace[] => [
  {
    name: "the provider's list",
    longest: 400_000,
    plain: SHORT_ENTRIES,
    shapes: [...LISTS, ...SHAPES],
    read: (text) =>
      readList(Buffer.from(text), {
        fields: ['code', 'name'].map((name) => ({ name, from: name })),
        requiredFields: [],
        maxBytes: 5_242_880,
      }).catch(() => undefined),
  },
  { name: "the provider's Content-Type", longest: 15_500, shapes: SHAPES, read: labelProblem },
  {
    name: 'Retry-After, and dates of clients',
    longest: 15_500,
    shapes: SHAPES,
    read: parseHttpDate,
  },
  {
    name: "the provider's names of fields",
    longest: 12_800,
    shapes: SHAPES,
    read: (text) => nearestName('shortName', text.match(/.{1,64}/gs) ?? []),
  },
  ...[`s3cret${'a'.repeat(40)}`, 'a'.repeat(8_000), '\\'.repeat(100) + 'abcd1234'].map(
    (secret) => ({
      name: `a line of the log, with a secret of ${secret.length} characters`,
      longest: 100_000,
      shapes: SHAPES,
      read: redaction(secret),
    }),
  ),
  {
    name: 'a secret of a file or the token endpoint',
    longest: 8_192,
    shapes: SHAPES,
    read: (text) => redaction(text)('{"level":30,"msg":"request"}'),
  },
  {
    name: 'a line for a terminal',
    usPerChar: OWN_US_PER_CHAR,
    longest: 100_000,
    shapes: SHAPES,
    read: printable,
  },
  {
    name: '.env',
    usPerChar: 5,
    longest: 64_000,
    plain: { name: 'comments', text: (length) => '# a comment\n'.repeat(length / 12) },
    shapes: [...LINES, ...SHAPES],
    read: (text) => {
      writeFileSync(join(directory, '.env'), text);
      return checkConfig({});
    },
  },
  ...VARIABLE_NAMES.map((name) => ({
    name,
    usPerChar: OWN_US_PER_CHAR,
    longest: 8_192,
    shapes: SHAPES,
    read: (text: string): unknown => {
      try {
        return VARIABLES[name].parse(text);
      } catch {
        return undefined;
      }
    },
  })),
  {
    name: "the bank picker's query",
    longest: 10_000,
    plain: PLAIN_QUERY,
    shapes: SHAPES,
    read: search,
  },
];

/** Measures every place that is wanted. */
export const measureTexts = async (
  isWanted: (place: string) => boolean,
): Promise<readonly Result[]> => {
  const directory = mkdtempSync(join(tmpdir(), 'banks-bff-worst-case-'));
  const before = process.cwd();
  const search = await loadSearch();
  process.chdir(directory);
  try {
    const results: Result[] = [];
    for (const place of placesIn(directory, search))
      if (isWanted(place.name)) results.push(...(await measurePlace(place)));
    return results;
  } finally {
    process.chdir(before);
    rmSync(directory, { recursive: true });
  }
};

const measurePlace = async (place: TextPlace) => {
  const { name, longest, plain = PLAIN, shapes, usPerChar = LEAST_US_PER_CHAR, read } = place;
  const cost = (shape: Shape, length: number) => {
    const text = shape.text(length);
    return costHere(() => read(text));
  };
  const results: Result[] = [];
  for (const shape of shapes) {
    const measured = await compare({
      worst: cost(shape, longest),
      plain: atLeast(longest * usPerChar, cost(plain, longest)),
      half: atLeast((longest / 2) * usPerChar, cost(shape, longest / 2)),
    });
    results.push({ place: name, shape: shape.name, length: longest, ...measured });
  }
  return results;
};

/**
 * What is refused at a glance says nothing of the cost of reading: that is at least a few passes
 * over the text.
 */
const LEAST_US_PER_CHAR = 0.01;
const atLeast = (us: number, cost: () => Promise<number> | number) => async () =>
  Math.max(us, await cost());
