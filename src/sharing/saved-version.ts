import {
  MAX_FORMER,
  MAX_NUMBER,
  type Place,
  type StoreVersion,
  type SeriesVersion,
} from '../banks/order.ts';
import { isJsonObject } from '../json.ts';
import { isId, isWholeUpTo, toList } from './saved-values.ts';

// The version of a saved list, which is written in two forms: as JSON with the list, and without
// the former series as the head in Redis, `series:number:listId`.

export const writeHead = ({ series, number, listId }: StoreVersion): Buffer =>
  Buffer.from(`${series}:${number}:${listId}`);

/** Undefined if there is no head, or an invalid one. */
export const readHead = (bytes: Buffer | undefined): StoreVersion | undefined => {
  const [series = '', digits = '', listId = '', ...rest] =
    bytes?.toString('latin1').split(':', 4) ?? [];
  const number = /^\d{1,16}$/.test(digits) ? Number(digits) : undefined;
  const isHead = isId(series) && isId(listId) && listId !== '' && rest.length === 0;
  return isHead && isWholeUpTo(MAX_NUMBER, number)
    ? { series, number, listId, former: [] }
    : undefined;
};

/**
 * The version that is saved with a list. Its `listId` tells the kind of the place: it is that of
 * the list itself, of the list to be replaced, or empty.
 */
export const toSavedVersion = ({ kind, version }: Place): StoreVersion =>
  kind === 'beside' ? { ...version, listId: '' } : version;

/** @param id of the list that the version was saved with */
export const toPlace = (version: StoreVersion, id: string): Place => {
  if (version.listId === id) return { kind: 'stored', version };
  return { kind: version.listId === '' ? 'beside' : 'successor', version };
};

/** From JSON; undefined if it is not a version. */
export const toStoreVersion = (value: unknown): StoreVersion | undefined => {
  if (!isJsonObject(value)) return undefined;
  const { listId } = value;
  const version = toSeriesVersion(value);
  if (!version || !isId(listId)) return undefined;
  const former = toList(value['former'], MAX_FORMER)
    .map(toSeriesVersion)
    .filter((earlier) => earlier !== undefined);
  const carriedFrom = toSeriesVersion(value['carriedFrom']);
  return { ...version, listId, former, ...(carriedFrom && { carriedFrom }) };
};

const toSeriesVersion = (value: unknown): SeriesVersion | undefined => {
  if (!isJsonObject(value)) return undefined;
  const { series, number } = value;
  return isId(series) && isWholeUpTo(MAX_NUMBER, number) ? { series, number } : undefined;
};
