import type { EarlierList } from '../../src/banks/guard/memory.ts';
import { LoadError } from '../../src/banks/load-error.ts';
import { countRejected } from '../../src/banks/reading/entry.ts';
import {
  readList,
  type ListContract,
  type LoadedList,
} from '../../src/banks/reading/list-reader.ts';

// Lists read as the service reads them.

/** Every field passes. */
export const EVERY_FIELD: ListContract = {
  fields: undefined,
  requiredFields: [],
  maxBytes: 5 * 1024 * 1024,
};

/** Banks as the service has them after reading a list, the first one. */
export const readBanks = async (
  banks: readonly unknown[],
): Promise<LoadedList & { readonly earlier: readonly EarlierList[] }> => ({
  ...(await readList(Buffer.from(JSON.stringify(banks)), EVERY_FIELD)),
  hasNextPage: false,
  earlier: [],
});

/** How many entries JSON.parse reads in this text, or why it is no list. */
export const expectedOf = (text: string): number | string => {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value.length : 'not_a_list';
  } catch {
    return 'malformed';
  }
};

/**
 * How many entries the service reads in this text, rejected ones included, or why it refuses it.
 */
export const verdictOf = (text: string): Promise<number | string> =>
  readList(Buffer.from(text), EVERY_FIELD).then(
    ({ count, rejected }) => count + countRejected(rejected),
    (error: unknown) => LoadError.from(error).kind,
  );
