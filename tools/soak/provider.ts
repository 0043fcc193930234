import { createRequire } from 'node:module';
import type { Behaviour, BehaviourDetails, TokenBehaviour } from '../../emulator/behaviours.ts';
import type { Call } from '../../emulator/calls.ts';
import { startEmulator } from '../../emulator/emulator.ts';
import type { Findings } from './findings.ts';
import type { Lateness } from './lateness.ts';
import { TIMEOUT_MS, TTL_MS } from './policy.ts';

// The emulated provider with a memory: which lists it had when, what it answered when, and so what
// the service may serve.

/** One list of the provider. */
export interface Version {
  /** As the service publishes it. */
  readonly json: string;
  /** Whether the guard must refuse it; false once the operator has accepted it. */
  isRefused: boolean;
  readonly fromMs: number;
  untilMs: number;
}

/** One answer of the provider that may have been good: it had one of these lists. */
interface Provision {
  readonly atMs: number;
  readonly versions: readonly Version[];
  /** Whether it certainly was good. */
  readonly isGood: boolean;
}

/** Why the provider gives no good answer, or gave none until `untilMs`. */
interface Trouble {
  readonly name: string;
  readonly fromMs: number;
  untilMs: number;
  readonly retryAfterMs: number;
}

interface Bank {
  readonly [field: string]: unknown;
  readonly code: string;
  readonly ispb: string;
  readonly name: string;
}

export type Provider = Awaited<ReturnType<typeof startProvider>>;

const REMEMBERED_MS = 180_000;
/** With these the service goes on. */
const USABLE_GRANTS: ReadonlySet<TokenBehaviour> = new Set<TokenBehaviour>([
  'healthy',
  'no-expires-in',
  'string-expires-in',
  'null-expires-in',
  'bad-expires-in',
  'no-type',
  'created',
  'lowercase-type',
]);
const REQUEST_HEADERS = new Set(
  'accept accept-encoding authorization connection host user-agent'.split(' '),
);

export const startProvider = async (options: {
  readonly clientSecret: string;
  readonly random: () => number;
  readonly lateness: Lateness;
  readonly findings: Findings;
}) => {
  const { random, lateness, findings } = options;
  const versions = new Map<string, Version>();
  const provisions: Provision[] = [];
  const troubles: Trouble[] = [];
  const tokens = new Set<string>();
  let trouble: Trouble | undefined;
  let current: Version | undefined;
  let count = 0;

  const onCallEnd = (call: Call): void => {
    const nowMs = performance.now();
    const longestMs = TIMEOUT_MS + lateness.slackMs();
    findings.count(`provider ${call.path}`, call.status ?? 'cut off');
    tokens.add(/^Bearer (.*)$/.exec(call.headers.authorization ?? '')?.[1] ?? '');
    tokens.delete('');
    if (tokens.size > 8) tokens.delete([...tokens][0] ?? '');
    if (call.path !== '/api/v1/banks') return;
    const strange = Object.keys(call.headers).filter((name) => !REQUEST_HEADERS.has(name));
    if (strange.length > 0)
      findings.fail('provider', 'headers that the provider should not get', strange.join());
    if (!/^banks-bff\/\d/.test(call.headers['user-agent'] ?? ''))
      findings.fail('provider', 'a call without User-Agent');
    const possible = [...versions.values()].filter(
      ({ fromMs, untilMs }) => fromMs <= nowMs && untilMs >= nowMs - longestMs,
    );
    const isOk = call.status === 200;
    // The list of a call that ends in a trouble may have been sent before the trouble began.
    const mayBeGood = isOk && (!trouble || nowMs - trouble.fromMs < longestMs);
    // A call that began in the last trouble may only look good: its head had been sent.
    const isGood = isOk && !trouble && nowMs - (troubles.at(-1)?.untilMs ?? -Infinity) > longestMs;
    if (mayBeGood) provisions.push({ atMs: nowMs, versions: possible, isGood });
    while ((provisions[0]?.atMs ?? nowMs) < nowMs - REMEMBERED_MS) provisions.shift();
  };
  const emulator = await startEmulator({
    clientSecret: options.clientSecret,
    tokenLifetimeSeconds: 60,
    compress: 'gzip',
    onCallEnd,
  });

  let banks: readonly Bank[] = createRequire(import.meta.url)('#emulator-banks.json');
  const set = (list: readonly Bank[], isRefused: boolean): Version => {
    const nowMs = performance.now();
    if (current) current.untilMs = nowMs;
    for (const [key, { untilMs }] of versions)
      if (untilMs < nowMs - REMEMBERED_MS) versions.delete(key);
    const json = JSON.stringify(list.map(({ code, ispb, name }) => ({ code, ispb, name })));
    const known = versions.get(json);
    count += known ? 0 : 1;
    current = known ?? { json, isRefused, fromMs: nowMs, untilMs: Infinity };
    current.untilMs = Infinity;
    current.isRefused = isRefused;
    versions.set(json, current);
    emulator.setBanks(list);
    return current;
  };
  const settledAfter = (
    { untilMs, retryAfterMs } = { untilMs: -Infinity, retryAfterMs: 0 },
  ): number => untilMs + Math.max(TTL_MS, retryAfterMs) + TIMEOUT_MS + lateness.slackMs();
  const beginTrouble = (name: string, retryAfterMs = 0): void => {
    trouble = { name, fromMs: performance.now(), untilMs: Infinity, retryAfterMs };
    troubles.push(trouble);
    if (troubles.length > 20) troubles.shift();
  };
  const endTrouble = (): void => {
    if (trouble) trouble.untilMs = performance.now();
    trouble = undefined;
  };
  set(banks, false);

  return {
    emulator,
    /** The latest, oldest first. */
    provisions,
    /** Tokens that the service has sent. */
    tokens,
    /** Adds, removes and renames some banks. */
    change: (): void => {
      banks = alter(banks, count, random);
      set(banks, false);
    },
    /** Half of the current banks, until {@link presentAll}. */
    presentHalf: (): Version => {
      beginTrouble('shrunk');
      return set(banks.slice(0, Math.floor(banks.length / 2)), true);
    },
    presentAll: (): void => {
      endTrouble();
      set(banks, false);
    },
    /** An operator is about to accept it. */
    accept: (version: Version): void => {
      version.isRefused = false;
      endTrouble();
    },
    begin: async (name: Behaviour, details: BehaviourDetails = {}): Promise<void> => {
      if (name !== 'slow') beginTrouble(name, Number(details.retryAfter ?? 0) * 1_000);
      await emulator.behave(name, details);
    },
    /** All issued tokens are rejected from now on, and the endpoint behaves like this. */
    beginToken: (name: TokenBehaviour): void => {
      if (!USABLE_GRANTS.has(name)) beginTrouble('token');
      emulator.behaveToken(name);
      emulator.revokeIssued();
    },
    end: async (): Promise<void> => {
      emulator.behaveToken('healthy');
      await emulator.behave('healthy');
      endTrouble();
    },
    versionOf: (json: Buffer): Version | undefined => versions.get(json.toString()),
    /** When the last good answer before `beforeMs` was sent; -Infinity without one lately. */
    lastGoodAtMs: (beforeMs: number): number =>
      provisions.findLast(({ atMs, isGood }) => isGood && atMs <= beforeMs)?.atMs ?? -Infinity,
    /** From when on the list must be fresh again: Infinity while there is trouble. */
    settledAtMs: (): number => settledAfter(troubles.at(-1)),
    /** The troubles between these times, whose effects may still be seen. */
    troubles: (fromMs: number, toMs: number): string[] =>
      troubles
        .filter((one) => one.fromMs <= toMs && settledAfter(one) >= fromMs)
        .map(({ name }) => name),
  };
};

/** Fewer than the guard would refuse, even when the service has missed several changes in a row. */
const MAX_CHANGES = 3;
const MIN_BANKS = 490;
const MAX_BANKS = 540;

const alter = (banks: readonly Bank[], number: number, random: () => number): readonly Bank[] => {
  const changed = [...banks];
  const at = (): number => Math.floor(random() * changed.length);
  const times = (): number => 1 + Math.floor(random() * MAX_CHANGES);
  if (changed.length > MIN_BANKS && random() < 0.5)
    for (let left = times(); left > 0; left -= 1) changed.splice(at(), 1);
  if (changed.length < MAX_BANKS && random() < 0.5)
    for (let left = times(); left > 0; left -= 1)
      changed.splice(at(), 0, {
        ...banks[0],
        code: `9${number}`,
        ispb: String(90_000_000 + number * 10 + left),
        name: `Banco Novo ${number}/${left} Ação & Cía`,
      });
  const index = at();
  const renamed = changed[index];
  if (renamed) changed[index] = { ...renamed, name: `${renamed.name.slice(0, 40)} ${number}` };
  return changed;
};
