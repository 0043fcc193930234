import { readList, type ListContract, type ReadList } from '../../src/banks/reading/list-reader.ts';

/** Every field passes. */
export const EVERY_FIELD: ListContract = { fields: undefined, requiredFields: [], maxBytes: 5 * 1024 * 1024 };

/** Banks as the service has them after reading a list. */
export const readBanks = (banks: readonly unknown[]): Promise<ReadList> =>
  readList(Buffer.from(JSON.stringify(banks)), EVERY_FIELD);
