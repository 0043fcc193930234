import { createHash } from 'node:crypto';

// The provider's list of banks as it changes: a handful of entries, so that a simulated day costs little.

export interface BankVersion {
  readonly banks: readonly unknown[];
  readonly body: string;
  /** What a replica may publish of it, byte for byte. */
  readonly published: string;
  readonly shape: Shape;
  readonly etag: string;
  readonly lastModified: string;
}

export interface Shape {
  readonly size: number;
  /** How many times a bank has been renamed. */
  readonly renames: number;
  readonly drift: 'none' | 'code as a number' | 'no name';
}

/** What may be published: some fields, or whatever there is. */
export type Published = 'code,ispb,name' | 'all';
const USUAL: Shape = { size: 10, renames: 0, drift: 'none' };

export const createBankVersions = (fields: Published) => {
  const all: BankVersion[] = [];
  const change = (shape: Shape): void => void all.push(toVersion(shape, all.length, fields));
  change(USUAL);
  const current = (): BankVersion => all.at(-1) as BankVersion;
  return {
    current,
    change: (next: Partial<Shape>) => change({ ...current().shape, ...next }),
    rename: () => change({ ...current().shape, renames: current().shape.renames + 1 }),
    restore: () => change(USUAL),
    /** The newest version that a condition names. */
    find: (etag: string | undefined, lastModified: string | undefined): BankVersion | undefined =>
      all.findLast((version) =>
        etag === undefined ? version.lastModified === lastModified : version.etag === etag,
      ),
    byPublished: (text: string): BankVersion | undefined =>
      all.findLast(({ published }) => published === text),
    largest: () => Math.max(...all.map(({ shape }) => shape.size)),
  };
};

const toVersion = (shape: Shape, number: number, fields: Published): BankVersion => {
  const banks = Array.from({ length: shape.size }, (_, index) => ({
    code: shape.drift === 'code as a number' ? index + 1 : String(index + 1).padStart(3, '0'),
    ispb: String(10_000_000 + index),
    ...(shape.drift === 'no name' ? {} : { name: index === 0 ? `BCO ${shape.renames}` : `BCO ${index}` }),
    kind: { of: ['bank'], since: 1_900 + index, isOld: true },
  }));
  const published = JSON.stringify(
    fields === 'all'
      ? banks
      : banks.map(({ code, ispb, ...bank }) => ({ code, ispb, name: 'name' in bank ? bank.name : null })),
  );
  const etag = createHash('sha256').update(published).digest('base64url').slice(0, 12);
  return {
    banks,
    body: JSON.stringify(banks),
    published,
    shape,
    etag: `"${etag}"`,
    // Every change has a second of its own: HTTP dates cannot tell more.
    lastModified: new Date(Date.UTC(2026, 0, 1) + number * 1_000).toUTCString(),
  };
};
