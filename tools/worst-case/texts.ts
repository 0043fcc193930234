import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import emulatorBanks from '#emulator-banks.json' with { type: 'json' };
import { parseHttpDate } from '../../src/http-date.ts';
import { createRedaction } from '../../src/secrets/redaction.ts';
import { printable } from '../../src/printable.ts';
import { ownPlaces } from './own-texts.ts';
import { PROVIDER_PLACES } from './provider-texts.ts';
import type { Result } from './report.ts';
import { SHAPES, type Shape } from './shapes.ts';
import { STORED_PLACES } from './stored-texts.ts';
import { measureTextPlace, ignoringErrors, type TextPlace } from './text-place.ts';

// Every place where a text enters that is not a request.

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

/** Text of any origin, as it is written. */
const WRITTEN_PLACES: readonly TextPlace[] = [
  ...[`s3cret${'a'.repeat(40)}`, 'a'.repeat(8_000), '\\'.repeat(100) + 'abcd1234'].map(
    (secret): TextPlace => ({
      name: `a line of the log, with a secret of ${secret.length} characters`,
      longest: 100_000,
      shapes: SHAPES,
      isOfClients: true,
      reader: ignoringErrors(redaction(secret)),
    }),
  ),
  {
    name: 'a line for a terminal',
    longest: 100_000,
    shapes: SHAPES,
    reader: ignoringErrors(printable),
  },
  {
    name: 'dates of clients',
    longest: 15_500,
    shapes: SHAPES,
    isOfClients: true,
    reader: ignoringErrors(parseHttpDate),
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
    const places: readonly TextPlace[] = [
      ...PROVIDER_PLACES,
      ...STORED_PLACES,
      ...ownPlaces(directory),
      ...WRITTEN_PLACES,
      {
        name: "the bank picker's query",
        longest: 10_000,
        plain: PLAIN_QUERY,
        shapes: SHAPES,
        reader: ignoringErrors(search),
      },
    ];
    const results: Result[] = [];
    for (const place of places)
      if (isWanted(place.name)) results.push(...(await measureTextPlace(place)));
    return results;
  } finally {
    process.chdir(before);
    rmSync(directory, { recursive: true });
  }
};
