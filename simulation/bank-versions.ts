// The provider's list of banks as it changes: a handful of entries, so that a simulated day costs little.

export interface BankVersion {
  readonly banks: readonly unknown[];
  readonly body: string;
  /** What a replica may publish of it, byte for byte. */
  readonly published: string;
  readonly shape: Shape;
}

export interface Shape {
  readonly size: number;
  /** How many times a bank has been renamed. */
  readonly renames: number;
  readonly drift: 'none' | 'code as a number' | 'name renamed';
}

/** What may be published: some fields, or whatever there is. */
export type Published = 'code,ispb,label:name' | 'all';
const USUAL: Shape = { size: 5, renames: 0, drift: 'none' };

export const createBankVersions = (fields: Published) => {
  const all: BankVersion[] = [];
  const change = (shape: Shape): void => void all.push(toVersion(shape, fields));
  change(USUAL);
  const current = (): BankVersion => all.at(-1) as BankVersion;
  return {
    current,
    change: (next: Partial<Shape>) => change({ ...current().shape, ...next }),
    rename: () => change({ ...current().shape, renames: current().shape.renames + 1 }),
    restore: () => change(USUAL),
    /** Back to the version before the current one. */
    goBack: () => change((all.at(-2) ?? current()).shape),
    byPublished: (text: string): BankVersion | undefined =>
      all.findLast(({ published }) => published === text),
  };
};

const toVersion = (shape: Shape, fields: Published): BankVersion => {
  const banks = Array.from({ length: shape.size }, (_, index) => ({
    code: shape.drift === 'code as a number' ? index + 1 : String(index + 1).padStart(3, '0'),
    ispb: String(10_000_000 + index),
    [shape.drift === 'name renamed' ? 'nome' : 'name']: index === 0 ? `BCO ${shape.renames}` : `BCO ${index}`,
    kind: { of: ['bank'], since: 1_900 + index, isOld: true },
  }));
  const published = JSON.stringify(
    fields === 'all'
      ? banks
      : banks.map(({ code, ispb, name = null }: Record<string, unknown>) => ({ code, ispb, label: name })),
  );
  return { banks, body: JSON.stringify(banks), published, shape };
};
