import {
  MAX_DECISIONS,
  type Decision,
  type CachedList,
  type ListMetadata,
  type SavedList,
} from '../banks/cached-list.ts';
import { OVERRIDABLE } from '../banks/guard/guard.ts';
import { CONTENT_CHARS, MAX_EARLIER_LISTS, type EarlierList } from '../banks/guard/memory.ts';
import { NO_PLACE } from '../banks/order.ts';
import {
  NOTHING_REJECTED,
  REJECTION_REASONS,
  type RejectedEntries,
} from '../banks/reading/entry.ts';
import { JSON_TYPES, MAX_FIELD_NAMES } from '../banks/reading/profile.ts';
import { monotonic, wall, type MonotonicMs } from '../clock.ts';
import { isJsonObject, MAX_LIST_ENTRIES, parseJson, type JsonObject } from '../json.ts';
import {
  isId,
  isText,
  isWholeUpTo,
  MAX_DURATION_MS,
  MAX_TIME_MS,
  toList,
  toSavedTime,
  type Moment,
} from './saved-values.ts';
import { toPlace, toSavedVersion, toStoreVersion } from './saved-version.ts';
import { StoreError } from './store-report.ts';

// The metadata of a saved list: the third line of its envelope. Its times are durations, from the
// moment when it was saved.

/** It has about 6 kB, and more where all fields of the provider are published. */
export const MAX_METADATA_BYTES = 64 * 1024;

/** The third line. */
export const writeMetadata = (saved: CachedList, { storeMs, nowMs }: Moment): string => {
  const age = (atMs: MonotonicMs): number => Math.round(nowMs - atMs);
  const metadata = {
    id: saved.id,
    version: toSavedVersion(saved.place),
    savedAtMs: toSavedTime(storeMs),
    ageMs: age(saved.loadedAtMs),
    loadMs: Math.round(saved.loadedAtMs - saved.requestedAtMs),
    isAgeUnknown: saved.isAgeUnknown,
    hasNextPage: saved.hasNextPage,
    rejected: saved.rejected,
    decisions: saved.decisions.map(({ madeAtMs, madeAtWallMs, ...decision }) => ({
      ...decision,
      ageMs: age(madeAtMs),
      madeAtWallMs: toSavedTime(madeAtWallMs),
    })),
    memory: saved.earlier.map(({ content, count, filled, firstUntilMs, lastUntilMs }) => ({
      content,
      count,
      firstAgeMs: age(firstUntilMs),
      lastAgeMs: age(lastUntilMs),
      filled: Object.fromEntries(
        [...filled].map(([name, rates]) => [
          name,
          JSON_TYPES.map((type) => toMillionths(rates[type])),
        ]),
      ),
    })),
  };
  const line = JSON.stringify(metadata);
  // Counted in characters, of which one may have 3 bytes in UTF-8.
  if (line.length <= MAX_METADATA_BYTES / 4) return line;
  // Without BANK_FIELDS the provider may send hundreds of fields: how well they were filled is then
  // remembered by the process only.
  return JSON.stringify({
    ...metadata,
    memory: metadata.memory.map((list) => ({ ...list, filled: {} })),
  });
};

const MILLION = 1_000_000;
const toMillionths = (rate: number): number => Math.floor(rate * MILLION);

type Metadata = Omit<ListMetadata, 'changedAtMs'> & Pick<SavedList, 'rejected' | 'hasNextPage'>;

/** What is in the first two lines. */
export interface ShortMetadata {
  readonly id: string;
  readonly receivedAtMs: number;
  readonly acceptedAtMs: number | undefined;
}

/**
 * How far the clock that wrote may be ahead of the one that reads: what two looks at one clock can
 * differ by.
 */
const MAX_AHEAD_MS = 1_000;

/**
 * @param line the third line; of the previous release it may be empty
 * @param ttlMs what a list counts as older than if it was saved in the future, by the clock that
 *   reads: one of the two is wrong, and it is renewed at once
 * @throws {StoreError} if it is damaged
 */
export const readMetadata = (
  line: Buffer,
  short: ShortMetadata,
  { storeMs, nowMs }: Moment,
  ttlMs: number,
): Metadata => {
  const { savedAtMs, ageMs, loadMs, isAgeUnknown, decisions, memory, ...known } = parseLine(
    line,
    short,
  );
  const elapsedMs = storeMs - savedAtMs;
  const sinceMs = Math.max(0, elapsedMs);
  const isFromFuture = elapsedMs < -MAX_AHEAD_MS;
  const listAgeMs = isFromFuture ? Math.max(ttlMs + 1, ageMs) : Math.max(0, ageMs + sinceMs);
  const at = (age: number): MonotonicMs => monotonic(nowMs - age - sinceMs);
  return {
    ...known,
    isUnconfirmed: false,
    isAgeUnknown: isAgeUnknown || isFromFuture,
    requestedAtMs: monotonic(nowMs - listAgeMs - loadMs),
    loadedAtMs: monotonic(nowMs - listAgeMs),
    decisions: decisions.map(({ ageMs: age, ...decision }) => ({
      ...decision,
      madeAtMs: at(age),
    })),
    unconfirmedDecisions: [],
    earlier: memory.map(({ firstAgeMs, lastAgeMs, ...list }) => ({
      ...list,
      firstUntilMs: at(firstAgeMs),
      lastUntilMs: at(lastAgeMs),
    })),
  };
};

/** @throws {StoreError} */
const parseLine = (line: Buffer, short: ShortMetadata) => {
  // The previous release wrote this line only where it had something to remember.
  if (line.length === 0) return fromPrevious(short, {});
  const saved = line.length <= MAX_METADATA_BYTES ? parseJson(line.toString()) : undefined;
  if (!isJsonObject(saved)) throw damaged();
  return saved['earlier'] === undefined ? toMetadata(saved) : fromPrevious(short, saved);
};

const damaged = (): StoreError => new StoreError('contains a list with damaged metadata; ignored');

/**
 * A list of the previous release counts as saved when it was received.
 * @param past what that release remembered: `{"earlier":[…],"decision":{…}}`
 */
const fromPrevious = ({ id, receivedAtMs, acceptedAtMs }: ShortMetadata, past: JsonObject) => {
  const decision = isJsonObject(past['decision']) ? past['decision'] : {};
  const { requestId } = decision;
  const reasons = toReasons(decision['reasons']);
  return {
    id,
    place: NO_PLACE,
    savedAtMs: receivedAtMs,
    ageMs: 0,
    loadMs: 0,
    isAgeUnknown: false,
    decisions:
      acceptedAtMs === undefined
        ? []
        : [
            {
              id: String(acceptedAtMs),
              ageMs: Math.max(0, receivedAtMs - acceptedAtMs),
              madeAtWallMs: wall(acceptedAtMs),
              reasons: reasons.length > 0 ? reasons : OVERRIDABLE,
              requestId: isRequestId(requestId) ? requestId : '',
            },
          ],
    // That release remembered one list more.
    memory: toList(past['earlier'], MAX_EARLIER_LISTS + 1)
      .slice(-MAX_EARLIER_LISTS)
      .map((list) => toPreviousList(list, receivedAtMs))
      .filter((list) => list !== undefined),
  };
};

const toPreviousList = (value: unknown, receivedAtMs: number): SavedEarlierList | undefined => {
  if (!isJsonObject(value) || !isWholeUpTo(MAX_TIME_MS, value['heldUntilMs'])) return undefined;
  const ageMs = Math.max(0, receivedAtMs - value['heldUntilMs']);
  return toEarlierList({ ...value, firstAgeMs: ageMs, lastAgeMs: ageMs });
};

/** @throws {StoreError} */
const toMetadata = (metadata: JsonObject) => {
  const { id, savedAtMs, ageMs, loadMs = 0, isAgeUnknown, hasNextPage } = metadata;
  const version = toStoreVersion(metadata['version']);
  const isMetadata =
    isId(id) &&
    version !== undefined &&
    isWholeUpTo(MAX_TIME_MS, savedAtMs) &&
    isDuration(ageMs) &&
    isWholeUpTo(MAX_DURATION_MS, loadMs) &&
    typeof isAgeUnknown === 'boolean' &&
    typeof hasNextPage === 'boolean';
  if (!isMetadata) throw damaged();
  return {
    id,
    place: toPlace(version, id),
    savedAtMs,
    ageMs,
    loadMs,
    isAgeUnknown,
    hasNextPage,
    rejected: toRejected(metadata['rejected']),
    // What is wrong among these is left out.
    decisions: toList(metadata['decisions'], MAX_DECISIONS)
      .map(toDecision)
      .filter((decision) => decision !== undefined),
    memory: toList(metadata['memory'], MAX_EARLIER_LISTS)
      .map(toEarlierList)
      .filter((list) => list !== undefined),
  };
};

/** What is wrong counts as 0. */
const toRejected = (value: unknown): RejectedEntries => {
  const rejected = { ...NOTHING_REJECTED };
  const saved = isJsonObject(value) ? value : {};
  for (const reason of REJECTION_REASONS) {
    const entries = saved[reason];
    if (isWholeUpTo(MAX_LIST_ENTRIES, entries)) rejected[reason] = entries;
  }
  return rejected;
};

/**
 * An age in milliseconds. It may be negative: the time of the store is that of the last look, and
 * the list may have been loaded since.
 */
const isDuration = (value: unknown): value is number =>
  typeof value === 'number' && isWholeUpTo(2 * MAX_DURATION_MS, value + MAX_DURATION_MS);

type SavedDecision = Omit<Decision, 'madeAtMs'> & { readonly ageMs: number };

const toDecision = (value: unknown): SavedDecision | undefined => {
  if (!isJsonObject(value)) return undefined;
  const { id, ageMs, madeAtWallMs, requestId } = value;
  const reasons = toReasons(value['reasons']);
  const isDecision =
    isId(id) &&
    isDuration(ageMs) &&
    isWholeUpTo(MAX_TIME_MS, madeAtWallMs) &&
    isRequestId(requestId) &&
    reasons.length > 0;
  return isDecision
    ? { id, ageMs, madeAtWallMs: wall(madeAtWallMs), reasons, requestId }
    : undefined;
};

const toReasons = (value: unknown): Decision['reasons'] => {
  const reasons = toList(value, OVERRIDABLE.length);
  return OVERRIDABLE.filter((reason) => reasons.includes(reason));
};

const isRequestId = (value: unknown): value is string => isText(128, value);

type SavedEarlierList = Omit<EarlierList, 'firstUntilMs' | 'lastUntilMs'> & {
  readonly firstAgeMs: number;
  readonly lastAgeMs: number;
};

const toEarlierList = (value: unknown): SavedEarlierList | undefined => {
  if (!isJsonObject(value)) return undefined;
  const { content, count, firstAgeMs, lastAgeMs, filled } = value;
  if (typeof content !== 'string' || content.length !== CONTENT_CHARS) return undefined;
  if (!isWholeUpTo(MAX_LIST_ENTRIES, count) || !isDuration(firstAgeMs) || !isDuration(lastAgeMs))
    return undefined;
  const rates = Object.entries(isJsonObject(filled) ? filled : {})
    .slice(0, MAX_FIELD_NAMES)
    .map(([name, values]) => [name, toRates(values)] as const);
  return { content, count, firstAgeMs, lastAgeMs, filled: new Map(rates) };
};

const toRates = (values: unknown) => {
  const [string = 0, number = 0, boolean = 0, object = 0, array = 0] = toList(
    values,
    JSON_TYPES.length,
  ).map((value) => (isWholeUpTo(MILLION, value) ? value / MILLION : 0));
  return { string, number, boolean, object, array };
};
