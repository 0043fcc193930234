import { createRequire } from 'node:module';
import { startEmulator } from '../../emulator/emulator.ts';
import type { Troubles } from './troubles.ts';

// The emulated provider with a memory: which list it had when, and when it last gave a good one.

/** One list of the provider. */
export interface Version {
  readonly fromMs: number;
  untilMs: number;
  /** Whether the guard must refuse it; false once an operator has accepted it. */
  isRefused: boolean;
}

interface Bank {
  readonly [field: string]: unknown;
  readonly code: string;
  readonly ispb: string;
  readonly name: string;
}

export type Provider = Awaited<ReturnType<typeof startProvider>>;

export const CLIENT_SECRET = 'soak-Kx7/+client=secret&0815';

export const startProvider = async (troubles: Troubles, random: () => number) => {
  /** By the list as the service publishes it. */
  const versions = new Map<string, Version>();
  const goodAtMs: number[] = [];
  const tokens = new Set<string>();
  let banks: readonly Bank[] = createRequire(import.meta.url)('#emulator-banks.json');
  let current: Version | undefined;
  let changes = 0;

  const emulator = await startEmulator({
    clientSecret: CLIENT_SECRET,
    tokenLifetimeSeconds: 60,
    onCallEnd: ({ path, status, headers }) => {
      const nowMs = performance.now();
      const [, token] = /^Bearer (.+)$/.exec(headers.authorization ?? '') ?? [];
      if (token !== undefined) tokens.add(token);
      // Answers that began in a trouble may only look good.
      const isGood = status === 200 && !troubles.between(nowMs - 2_000, nowMs, 'provider');
      if (path === '/api/v1/banks' && isGood) goodAtMs.push(nowMs);
    },
  });

  const present = (list: readonly Bank[], isRefused = false): Version => {
    const nowMs = performance.now();
    if (current) current.untilMs = nowMs;
    current = { fromMs: nowMs, untilMs: Infinity, isRefused };
    versions.set(
      JSON.stringify(list.map(({ code, ispb, name }) => ({ code, ispb, name }))),
      current,
    );
    emulator.setBanks(list);
    return current;
  };
  present(banks);

  return {
    emulator,
    /** The access tokens that the service has sent. */
    tokens,
    versionOf: (json: string): Version | undefined => versions.get(json),
    /** When it last gave a good list before `ms`; -Infinity if never. */
    lastGoodMs: (ms: number): number => goodAtMs.findLast((atMs) => atMs <= ms) ?? -Infinity,
    /** Renames one bank, and adds or removes another: the guard takes it, and no list comes twice. */
    change: (): void => {
      changes += 1;
      const index = Math.floor(random() * banks.length);
      const renamed = banks.map((bank, at) =>
        at === index ? { ...bank, name: `Banco Ação & Cía ${changes}` } : bank,
      );
      banks = random() < 0.5 ? renamed.slice(1) : [...renamed, added(changes)];
      present(banks);
    },
    /** Loses half of its banks, until the next change. */
    presentHalf: (): Version => present(banks.slice(0, banks.length / 2), true),
  };
};

const added = (number: number): Bank => ({
  code: `9${number}`,
  ispb: String(90_000_000 + number),
  name: `Banco Novo ${number}`,
});
