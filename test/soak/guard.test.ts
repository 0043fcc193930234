import { expect, test } from '@jest/globals';
import banks from '#emulator-banks.json' with { type: 'json' };
import { guard, type GuardPolicy } from '../../src/banks/guard/guard.ts';
import { readList, type ReadList } from '../../src/banks/reading/list-reader.ts';
import { createRandom } from '../kit/random.ts';

// What the guard does with every list, not only with those of its tables. GUARD_SEED=<number> repeats a run.

// oxlint-disable-next-line node/no-process-env -- repeats a run
const SEED = Number(process.env['GUARD_SEED'] ?? Date.now() % 1_000_000);
const POLICY: GuardPolicy = { minBanks: 1, maxShrink: 0.2, maxDrift: 0.2, fields: undefined };

type Bank = Readonly<Record<string, unknown>>;

const read = (list: readonly Bank[], names: readonly string[]): Promise<ReadList> =>
  readList(Buffer.from(JSON.stringify(list)), {
    fields: names.map((name) => ({ name, from: name })),
    requiredFields: [],
    maxBytes: 10_000_000,
  });

const isLetThrough = (next: ReadList, cached: ReadList): boolean => {
  try {
    guard(next, cached, POLICY, []);
    return true;
  } catch {
    return false;
  }
};

const pick = <T>(random: () => number, items: readonly T[]): T | undefined =>
  items[Math.floor(random() * items.length)];

const NAMES = ['a', 'b', 'c', 'd'];

/** Another value for a field: gone, empty, or of some type. */
const otherValue = (random: () => number): unknown =>
  pick(random, [undefined, null, '', `x${random()}`, random(), random() < 0.5, { x: random() }, [random()]]);

const randomList = (random: () => number): Bank[] =>
  Array.from({ length: 1 + Math.floor(random() * 40) }, (_, index) => ({
    a: index,
    ...Object.fromEntries(
      NAMES.map((name) => [name, random() < 0.7 ? `${name}${index}` : otherValue(random)]),
    ),
  }));

/** One field of a share of the entries changes; sometimes entries go. */
const mutate = (list: readonly Bank[], random: () => number): Bank[] => {
  const name = pick(random, NAMES) ?? 'a';
  const share = random();
  const isUniform = random() < 0.5;
  const uniform = otherValue(random);
  return list
    .filter(() => random() > 0.02)
    .map((bank) => (random() < share ? { ...bank, [name]: isUniform ? uniform : otherValue(random) } : bank));
};

/** The share of the published entries in which `name` has a value of JSON type `type`, told by JSON.parse alone. */
const shareOf = (published: readonly Bank[], name: string, type: string): number => {
  const typeOf = (value: unknown): string => (Array.isArray(value) ? 'array' : typeof value);
  const having = published.filter(
    (bank) => bank[name] !== null && bank[name] !== '' && typeOf(bank[name]) === type,
  );
  return having.length / published.length;
};

test(`no list is let through in which more than GUARD_MAX_DRIFT lost a field (GUARD_SEED=${SEED})`, async () => {
  const random = createRandom(SEED);
  const verdicts = { passed: 0, refused: 0 };
  for (let round = 0; round < 1_500; round += 1) {
    const list = randomList(random);
    // oxlint-disable-next-line no-await-in-loop -- one after the other is as fast
    const [cached, next] = await Promise.all([read(list, NAMES), read(mutate(list, random), NAMES)]);
    if (cached.count === 0 || !isLetThrough(next, cached)) {
      verdicts.refused += 1;
      continue;
    }
    verdicts.passed += 1;
    const [before, now]: Bank[][] = [cached, next].map(({ json }) => JSON.parse(json.toString()));
    if (!before || !now) throw new Error('two lists');
    for (const name of NAMES) {
      const types = ['string', 'number', 'boolean', 'object', 'array'];
      const lost = types
        .map((type) => Math.max(0, shareOf(before, name, type) - shareOf(now, name, type)))
        .reduce((sum, share) => sum + share);
      expect(lost).toBeLessThanOrEqual(0.2 + 1e-9);
    }
  }
  // Neither verdict is rare, so that both are tested.
  expect(verdicts.passed).toBeGreaterThan(200);
  expect(verdicts.refused).toBeGreaterThan(200);
});

test(`a thousand days of ordinary changes pass a thousand times (GUARD_SEED=${SEED})`, async () => {
  const random = createRandom(SEED);
  const names = ['code', 'ispb', 'name', 'logo'];
  let list: Bank[] = banks;
  let logos = 0;
  let cached = await read(list, names);
  let passed = 0;
  for (let day = 0; day < 1_000; day += 1) {
    // The optional field fills up, and never empties again.
    logos = Math.min(1, logos + 0.01 * random());
    const kept = list.filter(() => random() > 0.05 * random());
    const renamed = kept.map((bank) =>
      random() < 0.05 * random() ? { ...bank, name: `${String(bank['name'])} ${day}` } : bank,
    );
    const added = Array.from({ length: Math.floor(random() * 0.05 * 513) }, (_, index) => ({
      code: random() < 0.9 ? `${day}-${index}` : null,
      ispb: `${day}${index}`,
      name: `Banco ${day} ${index}`,
    }));
    list = [...renamed, ...added].map((bank) =>
      random() < logos ? { ...bank, logo: 'https://example.com/logo.svg' } : bank,
    );
    // oxlint-disable-next-line no-await-in-loop -- each day is compared with the one before
    const next = await read(list, names);
    if (isLetThrough(next, cached)) passed += 1;
    cached = next;
  }
  expect(passed).toBe(1_000);
});
