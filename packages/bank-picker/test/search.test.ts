import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from '@jest/globals';
import emulatorBanks from '../../../emulator/banks.json' with { type: 'json' };

// The search of the bank picker without a page: which banks a text finds, in which order, and what
// is said of each.

interface Bank {
  readonly id: string;
  readonly code: string;
  readonly name: string;
  /** As the service publishes it. */
  readonly entry?: { readonly ispb?: string | number };
}
type Span = readonly [start: number, end: number];
interface Hit {
  readonly bank: Bank;
  readonly kind: 'named' | 'found' | 'guessed';
  readonly explain: () => {
    readonly brand: string;
    readonly until: number;
    readonly marks: Readonly<Record<'name' | 'brand' | 'code' | 'ispb', readonly Span[]>>;
  };
}
interface Search {
  readonly createSearch: (banks: readonly Bank[]) => (query: string) => readonly Hit[];
  readonly popularFirst: (hits: readonly Hit[]) => Record<'popular' | 'others', readonly Hit[]>;
}
interface Marks {
  readonly initialsOf: (name: string) => string;
  readonly pieces: (
    text: string,
    spans: readonly Span[],
  ) => readonly { readonly text: string; readonly marked: boolean }[];
}
interface Strings {
  readonly stringsFor: (tag: string) => { readonly found: (count: number) => string };
}

/** The package is JavaScript, without types of its inner modules. */
const load = async <Module>(name: string): Promise<Module> =>
  import(pathToFileURL(resolve('packages/bank-picker', name)).href);
const { createSearch, popularFirst } = await load<Search>('search.js');
const { initialsOf, pieces } = await load<Marks>('marks.js');
const { stringsFor } = await load<Strings>('strings.js');

const banks = emulatorBanks.map(({ ispb, code, name }) => ({ id: ispb, code: code ?? '', name }));
const find = createSearch(banks);
const codesFor = (query: string): string[] => find(query).map(({ bank }) => bank.code);

/** The text with square brackets around what is marked. */
const withMarks = (text: string, spans: readonly Span[]): string =>
  pieces(text, spans)
    .map((piece) => (piece.marked ? `[${piece.text}]` : piece.text))
    .join('');
/** What is shown of a bank, by default the first one: its names, its code and its ISPB. */
const shownFor = (query: string, at = 0): string => {
  const hit = find(query)[at];
  if (!hit) return '';
  const { brand, until, marks } = hit.explain();
  return [
    withMarks(brand, marks.brand),
    until === 0 ? '' : String(until),
    withMarks(hit.bank.name, marks.name),
    withMarks(hit.bank.code, marks.code),
    withMarks(hit.bank.id, marks.ispb),
  ]
    .filter((text) => text !== '')
    .join(' | ');
};

test('what people type finds the bank that they mean', () => {
  const missed: string[] = [];
  let count = 0;
  /** Where a heading has "(none)", nothing may be found. */
  const NOTHING = '---';
  for (const section of readFileSync('packages/bank-picker/test/queries.txt', 'utf8')
    .split(/^# /m)
    .slice(1)) {
    const most = section.split('\n', 1)[0]?.endsWith('(3)') ? 3 : 1;
    const lines = section.matchAll(/^(\d{3}|---) ([^:]*): (.*)$/gm);
    for (const [, wanted = '', name, list = ''] of lines)
      for (const query of list.split(', ')) {
        const found = codesFor(query).slice(0, most);
        count += 1;
        if (wanted === NOTHING ? found.length > 0 : !found.includes(wanted))
          missed.push(`${query} is ${name}, not ${found.join()}`);
      }
  }
  expect(count).toBeGreaterThan(1_000);
  expect(missed).toEqual([]);
});

test('without a word all banks are found, in the order of the list; with signs only, none', () => {
  for (const query of ['', '  ']) expect(find(query).map(({ bank }) => bank)).toEqual(banks);
  expect(find('???')).toEqual([]);
});

test('the well-known banks come first where nothing is typed, and the others in their order', () => {
  const { popular, others } = popularFirst(find(''));
  const codes = ['260', '341', '104', '237', '001', '033', '077', '323', '380', '336'];
  expect(popular.map(({ bank }) => bank.code)).toEqual(codes);
  const isPopular = new Set(popular.map(({ bank }) => bank));
  expect(others.map(({ bank }) => bank)).toEqual(banks.filter((bank) => !isPopular.has(bank)));
});

test('digits find codes, ISPBs and CNPJs as people write them', () => {
  for (const query of ['341', '341-7', '60701190', '60.701.190/0001-04', '60701190000104', '6070'])
    expect(codesFor(query)).toEqual(['341']);
  for (const query of ['33', '033', '0033']) expect(codesFor(query)[0]).toBe('033');
  // The ISPB of Banco do Brasil, without the zeros that spreadsheets drop.
  for (const query of ['1', '0000', '00000000']) expect(codesFor(query)[0]).toBe('001');
});

test('brands, old names, ISPB and CNPJ are found by the ISPB, whichever field is the value', () => {
  const byCode = emulatorBanks.map(({ ispb, code, name }) => ({
    id: code ?? ispb,
    code: code ?? '',
    name,
    entry: { ispb },
  }));
  const byNumber = byCode.map((bank) => ({ ...bank, entry: { ispb: Number(bank.entry.ispb) } }));
  for (const list of [byCode, byNumber]) {
    const findIn = createSearch(list);
    for (const query of ['nubank', 'next', '18236120', '60.701.190/0001-04', '6070', 'intermedium'])
      expect([query, findIn(query).map(({ bank }) => bank.code)]).toEqual([query, codesFor(query)]);
    expect(findIn('6070')[0]?.explain().marks.ispb).toEqual([[0, 4]]);
    const { popular } = popularFirst(findIn(''));
    expect(popular.map(({ bank }) => bank.name)).toEqual(
      popularFirst(find('')).popular.map(({ bank }) => bank.name),
    );
  }
});

const inAll = (check: (bank: Bank) => readonly string[]): string[] => banks.flatMap(check);
const withoutAccents = (text: string): string => text.normalize('NFKD').replace(/\p{M}/gu, '');

test('the complete name of a bank names it, in any case, without accents and with more spaces', () => {
  const missed = inAll((bank) =>
    [
      bank.name,
      bank.name.toLowerCase(),
      withoutAccents(bank.name),
      bank.name.replaceAll('.', ''),
      `  ${bank.name.replaceAll(' ', '   ')} `,
    ].filter((query) => {
      const [first] = find(query);
      return first?.bank !== bank || first.kind !== 'named';
    }),
  );
  expect(missed).toEqual([]);
});

test('the complete code or ISPB of a bank names it, also if another bank has the number in its name', () => {
  const missed = inAll((bank) =>
    [bank.code, bank.id].filter((query) => {
      const [first] = query === '' ? [] : find(query);
      return query !== '' && (first?.bank !== bank || first.kind !== 'named');
    }),
  );
  expect(missed).toEqual([]);
  expect(codesFor('321').slice(0, 2)).toEqual(['321', '644']);
});

test('of two banks with one name, none is named', () => {
  const names = ['BANCO UM S.A.', 'BCO DOIS', 'Banco Um SA'];
  const twins = names.map((name, at) => ({ id: `9000000${at}`, code: '', name }));
  const hits = createSearch(twins)('banco um s.a.');
  expect(hits.map(({ bank, kind }) => [bank.name, kind])).toEqual([
    ['BANCO UM S.A.', 'found'],
    ['Banco Um SA', 'found'],
  ]);
});

test.each([
  ['341', 'named'],
  ['60.701.190/0001-04', 'named'],
  ['nubank', 'named'],
  ['mercadopago', 'named'],
  ['bco brasil', 'named'],
  ['caixa economica', 'named'],
  ['unibanco itau', 'found'],
  ['itauban', 'found'],
  ['6070', 'found'],
  ['bradezco', 'guessed'],
  ['bradesco exclusive', 'guessed'],
  ['intermedium', 'guessed'],
])('the first bank for "%s" is %s', (query, kind) => {
  const [first, ...others] = find(query).map((hit) => hit.kind);
  expect(first).toBe(kind);
  expect(others).not.toContain('named');
});

test.each([
  ['33', 'BCO SANTANDER (BRASIL) S.A. | 0[33] | 90400888'],
  ['60.701.190/0001-04', 'ITAÚ UNIBANCO S.A. | 341 | [60701190]'],
  ['unibanco itau', '[ITAÚ UNIBANCO] S.A. | 341 | 60701190'],
  ['237 bradesco', 'BCO [BRADESCO] S.A. | [237] | 60746948'],
  ['bco brasil', '[BCO] DO [BRASIL] S.A. | 001 | 00000000'],
  ['bradezco', 'BCO [BRADESCO] S.A. | 237 | 60746948'],
  ['tauban', 'BCO I[TAUBAN]K S.A. | 479 | 60394079'],
  ['nub', '[Nub]ank | NU PAGAMENTOS - IP | 260 | 18236120'],
  ['personnalite', '[Personnalité] | ITAÚ UNIBANCO S.A. | 341 | 60701190'],
  ['intermedium', '[Intermedium] | 2017 | BANCO INTER | 077 | 00416968'],
])('for "%s" the first bank is shown with what matched: %s', (query, shown) => {
  expect(shownFor(query)).toBe(shown);
});

test.each([
  ['MERCADO PAGO IP LTDA.', 'MP'],
  ['BCO DO BRASIL S.A.', 'B'],
  ['itaú unibanco holding', 'IU'],
  ['S.A.', ''],
])('the initials of %s are "%s"', (name, initials) => {
  expect(initialsOf(name)).toBe(initials);
});

test('the words are Portuguese for every kind of it, and English for all other languages', () => {
  expect(['pt', 'pt-BR', 'PT-pt', 'en', 'de', ''].map((tag) => stringsFor(tag).found(1))).toEqual([
    ...Array.from({ length: 3 }, () => '1 banco encontrado'),
    ...Array.from({ length: 3 }, () => '1 bank found'),
  ]);
  expect(stringsFor('pt').found(2)).toBe('2 bancos encontrados');
});
