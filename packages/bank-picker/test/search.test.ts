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
type Words = Readonly<Record<'EMPTY' | 'KINDS' | 'ABOUT', ReadonlySet<string>>>;
interface Strings {
  readonly stringsFor: (tag: string) => { readonly found: (count: number) => string };
}

/** The package is JavaScript, without types of its inner modules. */
const load = async <Module>(name: string): Promise<Module> =>
  import(pathToFileURL(resolve('packages/bank-picker', name)).href);
const { createSearch, popularFirst } = await load<Search>('search.js');
const { initialsOf, pieces } = await load<Marks>('marks.js');
const { EMPTY, KINDS, ABOUT } = await load<Words>('words.js');
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

test('digits find codes and ISPBs as people write them, the whole number first', () => {
  for (const query of ['341', '341-7']) expect(codesFor(query)).toEqual(['341', '078', '760']);
  for (const query of ['60701190', '60.701.190/0001-04', '60701190000104', '6070'])
    expect(codesFor(query)).toEqual(['341']);
  const beginsWith33 = banks.map(({ code }) => code).filter((code) => code.startsWith('33'));
  expect(codesFor('33').toSorted()).toEqual(['033', ...beginsWith33].toSorted());
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
    const queries = [
      'nubank',
      'next',
      '18236120',
      '60.701.190/0001-04',
      '6070',
      '208',
      'pag',
      '00',
    ];
    for (const query of [...queries, 'intermedium', 'caixa', 'banco do brasil', '416968'])
      expect([query, findIn(query).map(({ bank }) => bank.code)]).toEqual([query, codesFor(query)]);
    expect(findIn('6070')[0]?.explain().marks.ispb).toEqual([[0, 4]]);
    const { popular } = popularFirst(findIn(''));
    expect(popular.map(({ bank }) => bank.name)).toEqual(
      popularFirst(find('')).popular.map(({ bank }) => bank.name),
    );
  }
});

/** All that is done with the text of each bank in the list. */
/** Where each takes dozens of queries. */
const everyThird = banks.filter((_, index) => index % 3 === 0);
const inAll = (check: (bank: Bank) => readonly string[]): string[] => banks.flatMap(check);
const withoutAccents = (text: string): string => text.normalize('NFKD').replace(/\p{M}/gu, '');
const wordsOf = (text: string): string[] =>
  withoutAccents(text)
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu) ?? [];
/** What a person has typed of a text so far, from the fifth letter on. */
const typedSoFar = (text: string): string[] =>
  Array.from(text, (_, at) => text.slice(0, at + 1)).filter(
    (typed) => wordsOf(typed).join('').length >= 5,
  );

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

/** What the field takes when it is left. */
const takenOf = ([first, ...others]: readonly Hit[]): Hit | undefined => {
  const isOnly = first?.kind === 'found' && others.length === 0;
  return first?.kind === 'named' || isOnly ? first : undefined;
};
const matches = (query: string, { bank, explain }: Hit): boolean => {
  const shown = wordsOf(`${bank.name} ${explain().brand} BCO BANCO`);
  return wordsOf(query).every(
    (word) =>
      shown.some((other) => other.startsWith(word)) ||
      (word.length > 3 && shown.join('').includes(word)),
  );
};

test('amid its name, a bank is among the hits, and leaving the field takes none that does not match', () => {
  const missed: string[] = [];
  const wrong: string[] = [];
  for (const bank of everyThird)
    for (const query of typedSoFar(bank.name)) {
      const hits = find(query);
      if (hits.every((hit) => hit.bank !== bank)) missed.push(`${query}: ${bank.name}`);
      const taken = takenOf(hits);
      if (taken && !matches(query, taken)) wrong.push(`${query}: ${taken.bank.name}`);
    }
  expect(missed).toEqual([]);
  expect(wrong).toEqual([]);
});

test('amid a name that is written out, its bank is among the hits, too', () => {
  const missed = inAll((bank) => {
    const written = bank.name.replaceAll(/\bBCO\b\.?/g, 'Banco').replace('EST.', 'Estado');
    const isOther = /Estado|.Banco/.test(written);
    return (isOther ? typedSoFar(written) : []).filter((query) =>
      find(query).every((hit) => hit.bank !== bank),
    );
  });
  expect(missed).toEqual([]);
});

test.each([
  ['BT CC', '080'],
  ['PI DTVM', '315'],
  ['BCO DO EST. DO P', '037'],
  ['banco do estado do p', '037'],
  ['NU PAGAMENTOS - I', '260'],
  ['PICPAY BAN', '079'],
  ['CITIBANK N', '477'],
  ['citibank', '745'],
  ['BANCO ITAÚ', '341'],
  ['safra c', '177'],
  ['safra', '422'],
])('"%s" has first what begins with several words of it: %s', (query, code) => {
  expect(codesFor(query)[0]).toBe(code);
});

test('a half-typed word may begin any word of a name, also one that most names have', () => {
  const missed = everyThird.flatMap((bank) => {
    const isCommon = (word: string): boolean =>
      [EMPTY, KINDS, ABOUT].some((words) => words.has(word));
    const words = wordsOf(bank.name);
    const [first = '', ...others] = words.slice(words.findIndex((word) => !isCommon(word)));
    return others
      .flatMap((word) => Array.from(word, (_, at) => `${first} ${word.slice(0, at + 1)}`))
      .filter((query) => find(query).every((hit) => hit.bank !== bank));
  });
  expect(missed).toEqual([]);
  expect(codesFor('nubank i')).toEqual(['140', '260']);
  expect(codesFor('estad')).toEqual(expect.arrayContaining(['037', '041', '047', '584']));
});

test('a bank is found by all words of a query, in any order, or else by most of what they say', () => {
  for (const query of ['  unibanco   itaú ', 'ITAU UNIBANCO'])
    expect(codesFor(query)).toEqual(['341', '652']);
  expect(codesFor('bradesco exclusive')).toEqual(['237']);
  expect(codesFor('lojas renner')).toEqual(['374']);
  expect(codesFor('nenhum banco assim')).toEqual([]);
});

// What else is offered, and in which order: a hit that is missing, or one too many, is as wrong.
test.each([
  ['bb', '001 378 036 015 129 184 107 496 081'],
  ['brp', '741 126'],
  ['banco pam', '623 555 679 675 662 674 766'],
  ['brasiliax', '070 001 683'],
  ['inv ffa', '343 582 583 584'],
  ['bradescco', '237 036 122 394 063'],
  ['intter', '077 143 290 139 525 549 701 630'],
  ['azaas', '461 675'],
  ['comercial finamax', '014 714'],
  ['caixa aqui', '104 473 001'],
  ['money besa', '274 138 334 259'],
  ['nubanc', '260 140 128'],
  ['pague seguro', '290'],
  ['credito agricola', '222'],
  ['safta', '422 177 074 033 352'],
  ['secred', '748 183 085 580 581 582 583 584 578'],
  ['itaucard', '341'],
  ['viacredi', '085'],
])('all that "%s" finds is %s', (query, found) => {
  expect(
    find(query)
      .map(({ bank }) => bank.code || bank.id)
      .join(' '),
  ).toBe(found);
});

test('of a pasted text the first 16 words count', () => {
  expect(codesFor(`${'o '.repeat(15)}nubank`)).toEqual(['260', '140']);
  expect(codesFor(`${'o '.repeat(16)}nubank`)).not.toContain('260');
});

test('words of which names have many find no bank by themselves while they are typed', () => {
  const named = (word: RegExp): number => banks.filter(({ name }) => word.test(name)).length;
  expect(find('ban').length).toBeLessThan(named(/\b(?:BANCO|BCO)\b/));
  expect(find('s').length).toBeLessThan(named(/\bS[./]A\b/));
});

test('an answer does not depend on what was typed before', () => {
  const queries = ['itau', 'itaú u', 'bradezco', '341', 'intermedium', 'i'];
  const alone = queries.map((query) => createSearch(banks)(query).map(({ bank }) => bank.code));
  for (const [at, query] of queries.entries())
    for (const before of queries) {
      find(before);
      expect([before, query, codesFor(query)]).toEqual([before, query, alone[at]]);
    }
});

test.each([
  ['341', 'named'],
  ['60.701.190/0001-04', 'named'],
  ['nubank', 'named'],
  ['mercadopago', 'named'],
  ['bco brasil', 'named'],
  ['banko nu invest', 'named'],
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
  ['341', 'ITAÚ UNIBANCO S.A. | [341] | 60701190'],
  ['33', 'BCO SANTANDER (BRASIL) S.A. | 0[33] | 90400888'],
  ['6070', 'ITAÚ UNIBANCO S.A. | 341 | [6070]1190'],
  ['60.701.190/0001-04', 'ITAÚ UNIBANCO S.A. | 341 | [60701190]'],
  ['itau', '[ITAÚ] UNIBANCO S.A. | 341 | 60701190'],
  ['itau ita', '[ITAÚ] UNIBANCO S.A. | 341 | 60701190'],
  ['unibanco itau', '[ITAÚ UNIBANCO] S.A. | 341 | 60701190'],
  ['237 bradesco', 'BCO [BRADESCO] S.A. | [237] | 60746948'],
  ['bco brasil', '[BCO] DO [BRASIL] S.A. | 001 | 00000000'],
  ['banco s', '[BCO S]ANTANDER (BRASIL) S.A. | 033 | 90400888'],
  ['santander s.a.', 'BCO [SANTANDER] (BRASIL) [S].[A]. | 033 | 90400888'],
  ['amazonia s.a.', 'BCO DA [AMAZONIA S].[A]. | 003 | 04902979'],
  ['credito direto', 'REVOLUT [SCD] S.A. | 620 | 51342763'],
  ['picpay ban', '[PICPAY BAN]K - BANCO MÚLTIPLO S.A | 079 | 09516419'],
  ['parana bco s', '[PARANA BCO S].A. | 254 | 14388334'],
  ['bradezco', 'BCO [BRADESCO] S.A. | 237 | 60746948'],
  ['tauban', 'BCO I[TAUBAN]K S.A. | 479 | 60394079'],
  ['nub', '[Nub]ank | NU PAGAMENTOS - IP | 260 | 18236120'],
  ['next', '[Next] | BCO BRADESCO S.A. | 237 | 60746948'],
  ['personnalite', '[Personnalité] | ITAÚ UNIBANCO S.A. | 341 | 60701190'],
  ['intermedium', '[Intermedium] | 2017 | BANCO INTER | 077 | 00416968'],
])('for "%s" the first bank is shown with what matched: %s', (query, shown) => {
  expect(shownFor(query)).toBe(shown);
});

test('of a code that begins with the digits, these are marked', () => {
  expect(shownFor('33', 1)).toBe('BCO C6 S.A. | [33]6 | 31872495');
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
