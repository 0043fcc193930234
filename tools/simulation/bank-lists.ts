import { OVERRIDABLE, type Overridable } from '../../src/banks/guard/guard.ts';
import { oncePerPair } from './per-pair.ts';

// The provider's list of banks as it changes: few entries, so that a simulated day costs little;
// and what the documentation says of replacing one list by another.

export interface Shape {
  readonly size: number;
  /** Which bank is the second one: another one where banks were replaced. */
  readonly first: number;
  readonly isReversed: boolean;
  /** How often the first bank was renamed. */
  readonly renames: number;
  /** How many entries have no name. */
  readonly nameless: number;
  /** How many entries have a number as their code instead of a text. */
  readonly numeric: number;
}

export const USUAL: Shape = {
  size: 20,
  first: 0,
  isReversed: false,
  renames: 0,
  nameless: 0,
  numeric: 0,
};

/** Of what there can be: no more than all entries are without a name. */
export const toShape = (shape: Shape): Shape => ({
  ...shape,
  // One that is too short is refused for that.
  nameless: shape.size < MIN_BANKS ? 0 : Math.min(shape.size, shape.nameless),
  numeric: Math.min(shape.size, shape.numeric),
});

/** A list that the provider has sent completely, and that was usable. */
export interface BankList {
  readonly shape: Shape;
  /** As it is published. */
  readonly json: string;
  /** When the latest call was made that had been answered with it, after each answer. */
  readonly askedAtMs: number[];
  /** When the answers had arrived. */
  readonly deliveredAtMs: number[];
}

/** The fleet without `BANK_FIELDS`: all that the provider sends is published. */
export const ALL_FIELDS = 'all';

/**
 * The `BANK_FIELDS` of the simulated fleets. Replicas with different ones share nothing, also where
 * only the source of a field differs. Those after the first two mean the same as the first, and
 * differ only here: their fleets have another setting, see {@link OTHER_SETTINGS}.
 */
export const FIELDS = [
  'code,ispb:ids.ispb,name,site?',
  'code,ispb:ids.ispb,name,site:ids.site?',
  'code, ispb:ids.ispb, name, site?',
  'code, ispb:ids.ispb,name,site?',
  'code,ispb:ids.ispb, name,site?',
  ALL_FIELDS,
] as const;

/** By the index of their fields. */
export const OTHER_SETTINGS: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  2: { CACHE_SIGNING_KEY: 'the key of every other one of these replicas' },
  3: { PROVIDER_SANDBOX_BASE_URL: 'http://provider.example/other' },
  4: { BANK_REQUIRED_FIELDS: 'code' },
  5: { BANK_FIELDS: '', BANK_REQUIRED_FIELDS: 'code' },
};
export type Fields = (typeof FIELDS)[number];

/**
 * Values that say little, and are published as they are. Of sixteen entries, one has each: never so
 * many that a list without them has drifted.
 */
const SITES: Readonly<Record<number, unknown>> = { 1: false, 3: '', 4: [null], 9: 0 };

/**
 * @param serial tells an answer from every other one, where lists are to differ; see {@link
 *   serialIn}
 */
export const toEntries = (shape: Shape, serial: number) => {
  const entries = Array.from({ length: shape.size }, (_, index) => {
    const bank = ((shape.first + index) % 90) + 2;
    const [text, number] =
      index === 0 ? [`1.${serial}`, 1e7 + serial] : [String(bank).padStart(3, '0'), bank];
    const name = index === 0 ? `BCO ${shape.renames}` : `BCO ${bank}`;
    const ispb = String(10_000_000 + bank);
    // A field whose own name is `ids.ispb` comes first.
    const hasOwnName = bank % 2 > 0;
    return {
      code: index < shape.numeric ? number : text,
      ids: { ispb: hasOwnName ? 'another' : ispb, of: ['bank'] },
      ...(hasOwnName && { 'ids.ispb': ispb }),
      ...(index < shape.size - shape.nameless && { name }),
      ...(index % 16 in SITES && { site: SITES[index % 16] }),
    };
  });
  return shape.isReversed ? entries.toReversed() : entries;
};

/** Whether the entries of an answer in this form have a field that is not published, `note`. */
export const hasNote = (form: number): boolean => form % 3 === 2;

/** The same entries in another form, with what is not published, some of it hard to read. */
export const toBody = (entries: readonly unknown[], form: number): string => {
  if (form % 3 === 0) return JSON.stringify(entries);
  if (!hasNote(form)) return `\ufeff ${JSON.stringify(entries, undefined, 2)}\n`;
  const rest = { note: `] , } " \\ é${'x'.repeat(800)}`, since: 1.5, isOpen: true };
  return JSON.stringify(entries.map((entry) => (isObject(entry) ? { ...rest, ...entry } : entry)));
};

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The serial number of a published list, wherever it is quoted. */
export const serialIn = (text: string): number => Number(/"code":"?1[.0]0*(\d+)/.exec(text)?.[1]);

/** By list, which is compared with many others. */
const namesOfEntries = new WeakMap<BankList, string>();
const nameEntries = (list: BankList): string => {
  let name = namesOfEntries.get(list);
  if (name === undefined) {
    name = JSON.stringify([serialIn(list.json), { ...list.shape, isReversed: false }]);
    namesOfEntries.set(list, name);
  }
  return name;
};

/** Whether two lists of one fleet are the same to the guard, which knows no order of entries. */
export const hasSameEntries = (some: BankList, other: BankList): boolean =>
  nameEntries(some) === nameEntries(other);

/** The JSON that a replica publishes. */
export const toPublished = (entries: ReturnType<typeof toEntries>, fields: Fields): string =>
  JSON.stringify(
    fields === ALL_FIELDS
      ? entries
      : entries.map(({ code, ids, 'ids.ispb': ispb = ids.ispb, name = null, site = null }) => ({
          code,
          ispb,
          name,
          site: fields === FIELDS[1] ? null : site,
        })),
  );

/** A list with fewer entries is refused. */
export const MIN_BANKS = 4;

/** GUARD_MAX_SHRINK and GUARD_MAX_DRIFT are left at their default: exactly so much may be lost. */
const MAX_LOSS = 0.2;
/** Shares that are remembered are rounded. */
const ROUNDING = 0.001;

const losses = (before: Shape, after: Shape) => {
  const rise = (part: 'nameless' | 'numeric'): number =>
    after[part] / after.size - before[part] / before.size;
  const lost = before.size - after.size;
  return {
    shrunk: [lost > 0 && lost / before.size > MAX_LOSS + 1e-9 ? 1 : 0],
    drifted: [rise('nameless'), Math.abs(rise('numeric'))],
  };
};

/**
 * `after` has clearly lost more than the guard lets pass, for another reason than those that an
 * operator accepts.
 */
export const mustBeRefused = (
  before: Shape,
  after: Shape,
  accepted: readonly Overridable[] = [],
): boolean => {
  const found = losses(before, after);
  return OVERRIDABLE.some(
    (reason) =>
      !accepted.includes(reason) && found[reason].some((loss) => loss > MAX_LOSS + ROUNDING),
  );
};

/** A guard that refuses `after` has a reason: it can count a loss in one more way than one. */
export const mayBeRefused = oncePerPair((before: Shape, after: Shape): boolean => {
  const { shrunk, drifted } = losses(before, after);
  const sums = [shrunk, drifted].map((shares) =>
    shares.reduce((sum, share) => sum + Math.max(0, share), 0),
  );
  return sums.some((lost) => lost > MAX_LOSS - ROUNDING) || after.nameless === after.size;
});
