import { INTERNAL_DETAIL } from './answers.ts';

// Bank lists that are each wrong in one way: pure functions, without randomness.

/** The list with every field `from` renamed to `to`. */
export function renameField(banks: readonly unknown[], from: string, to: string): unknown[] {
  return banks.map((bank) =>
    mapFields(bank, (name, value) => (name === from ? [[to, value]] : [[name, value]])),
  );
}

/**
 * The list with the field `name` as a number where it is a string of digits: `"001"` becomes `1`.
 */
export function retypeField(banks: readonly unknown[], name: string): unknown[] {
  return banks.map((bank) =>
    mapFields(bank, (key, value) => [
      [
        key,
        key === name && typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value,
      ],
    ]),
  );
}

/** The list with the field `name` null in 30 % of the entries and missing from another 20 %. */
export function thinOutField(banks: readonly unknown[], name: string): unknown[] {
  return banks.map((bank, index) =>
    mapFields(bank, (key, value) => {
      if (key !== name || index % 10 >= 5) return [[key, value]];
      return index % 10 < 3 ? [[key, null]] : [];
    }),
  );
}

/**
 * The list with the fields `code` and `ispb` inside an object `ids`, and `name` inside `names`,
 * beside a list of objects.
 */
export function nestFields(banks: readonly unknown[]): unknown[] {
  return banks.map((bank) => {
    const { code, ispb, name, ...rest } = Object.fromEntries(fieldsOf(bank));
    return { ids: { code, ispb }, names: { short: name }, ...rest, links: [{ rel: 'self' }] };
  });
}

/** The list with another `ispb` in each entry. */
export function renumber(banks: readonly unknown[]): unknown[] {
  return banks.map((bank, index) =>
    mapFields(bank, (name, value) => [
      [name, name === 'ispb' ? String(90_000_000 + index) : value],
    ]),
  );
}

/** The first entry, `count` times. */
export function repeatFirst(banks: readonly unknown[], count: number): unknown[] {
  return Array.from({ length: count }, () => banks[0]);
}

/** The list with the entries that `isReplaced` selects replaced by values that are not objects. */
export function replaceWithJunk(
  banks: readonly unknown[],
  isReplaced: (index: number) => boolean,
): unknown[] {
  const junk: readonly unknown[] = [null, 42, INTERNAL_DETAIL, ['001', 'BCO DO BRASIL S.A.'], true];
  return banks.map((bank, index) =>
    isReplaced(index) ? junk[Math.floor(index / 2) % junk.length] : bank,
  );
}

/** 70,000 valid entries, more than 6 MiB as JSON. */
export function manyBanks(): unknown[] {
  return Array.from({ length: 70_000 }, (_, index) => ({
    code: null,
    ispb: String(10_000_000 + index),
    name: `BCO EMULADO ${index}`,
    fullName: `Banco Emulado Número ${index} S.A.`,
  }));
}

/** `value` as JSON in ISO-8859-1. Characters outside that encoding become question marks. */
export function toLatin1Json(value: unknown): Buffer {
  // Buffer would keep only their low byte, which could be a quotation mark.
  return Buffer.from(JSON.stringify(value).replaceAll(/[\u0100-\uffff]/g, '?'), 'latin1');
}

type Field = readonly [name: string, value: unknown];

function fieldsOf(bank: unknown): Field[] {
  return typeof bank === 'object' && bank !== null ? Object.entries(bank) : [];
}

function mapFields(
  bank: unknown,
  map: (name: string, value: unknown) => readonly Field[],
): unknown {
  if (typeof bank !== 'object' || bank === null) return bank;
  return Object.fromEntries(Object.entries(bank).flatMap(([name, value]) => map(name, value)));
}
