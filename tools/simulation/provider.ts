import { LoadError, type LoadErrorKind } from '../../src/banks/load-error.ts';
import type { Exchange, ExchangeResponse } from '../../src/provider/exchange.ts';
import {
  ALL_FIELDS,
  MIN_BANKS,
  toBody,
  toEntries,
  toPublished,
  toShape,
  USUAL,
  type BankList,
  type Fields,
  type Shape,
} from './bank-lists.ts';
import type { Call, History, Process } from './history.ts';
import { TOKEN } from './secret-files.ts';
import type { Owner, World } from './world.ts';

// The provider, at the interface of src/provider/exchange.ts. It records in the history each
// call and what it was answered.

/** A process that calls the provider. */
export interface Caller extends Owner {
  readonly process: Process;
  /** Refreshes that an operator waits for. */
  readonly refreshes: number;
  hasList(): boolean;
  onUse(what: string): void;
}

interface Behaviour {
  /** The kind of failure that it causes; undefined: the answer is a usable list. */
  readonly kind?: LoadErrorKind;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** What is sent besides or in place of the entries; undefined: the entries. */
  readonly entries?: (entries: readonly object[]) => readonly unknown[];
  readonly body?: string;
  /** How many entries are rejected, by reason, of those of a usable list. */
  readonly rejected?: (size: number) => Readonly<Record<string, number>>;
  /** What becomes of the answer where it does not arrive whole. */
  readonly course?: 'refuse' | 'never' | 'stall' | 'cut';
}

const JSON_TYPE = { 'content-type': 'application/json' };
/** Entries that are not published, one for each reason; none has a name. */
const unusable = (size: number) => [
  [],
  { code: size % 2 > 0 ? ' ' : [' ', null], ids: { ispb: '700' }, name: ' ' },
  { code: size % 2 > 0 ? { of: 'an object' } : ['1', { of: 'it' }], ids: { ispb: '700' } },
  { code: [2 ** 53, -(2 ** 53), [2 ** 53]][size % 3], ids: { ispb: '700' } },
];

/** The failures of the README, and answers that are usable though odd. */
export const BEHAVIOURS = {
  healthy: {},
  /** Exactly as many as GUARD_MAX_SHRINK allows, of twenty. */
  'some-unusable': {
    entries: (entries) =>
      entries.length < 20 ? entries : [...unusable(entries.length), ...entries, entries.at(-1)],
    rejected: (size): Readonly<Record<string, number>> =>
      size < 20
        ? {}
        : {
            not_an_object: 1,
            required_field: 1,
            object_value: 1,
            altered_number: 1,
            duplicate: 1,
          },
  },
  'next-page': { headers: { ...JSON_TYPE, link: '<?page=2>; rel="next"' } },
  refuse: { kind: 'unreachable', course: 'refuse' },
  hang: { kind: 'timeout', course: 'never' },
  stall: { kind: 'timeout', course: 'stall' },
  'cut-short': { kind: 'malformed', course: 'cut' },
  unauthorized: { kind: 'unauthorized', status: 401 },
  'rate-limited': { kind: 'rate_limited', status: 429 },
  unavailable: { kind: 'unavailable', status: 503 },
  forbidden: { kind: 'unexpected_status', status: 403 },
  redirect: {
    kind: 'unexpected_status',
    status: 302,
    headers: { location: 'http://elsewhere.example/' },
  },
  html: { kind: 'malformed', headers: { 'content-type': 'text/html' }, body: '<p>later' },
  'not-a-list': { kind: 'not_a_list', body: 'null' },
  empty: { kind: 'too_few', entries: () => [] },
  /** One more than GUARD_MAX_SHRINK allows. */
  'too-many-unusable': {
    kind: 'unusable_entries',
    entries: (entries) => [
      ...entries,
      ...Array.from({ length: Math.floor(entries.length / 4) + 1 }, () => ({ name: 'no code' })),
    ],
  },
  echo: {
    kind: 'echoed_secret',
    entries: (entries) => [
      ...entries.slice(1),
      { code: '900', ids: { ispb: '900' }, name: `Bearer ${TOKEN}` },
    ],
  },
} as const satisfies Record<string, Behaviour>;
export type BehaviourName = keyof typeof BEHAVIOURS;

/** How the list goes on. */
export const LIST_CHANGES = {
  'one bank renamed': ({ renames }) => ({ renames: renames + 1 }),
  'as usual': () => USUAL,
  'one of it gone': ({ size }) => ({ size: Math.max(1, size - 1) }),
  'an eighth of it gone': ({ size }) => ({ size: Math.ceil((size * 7) / 8) }),
  'a fifth of it gone': ({ size }) => ({ size: Math.ceil((size * 4) / 5) }),
  'a fifth and one gone': ({ size }) => ({ size: Math.max(1, Math.ceil((size * 4) / 5) - 1) }),
  'a fifth replaced': ({ first, size }) => ({ first: first + Math.floor(size / 5) }),
  'a third replaced': ({ first, size }) => ({ first: first + Math.ceil(size / 3) }),
  reversed: ({ isReversed }) => ({ isReversed: !isReversed }),
  'one without a name': ({ nameless }) => ({ nameless: nameless + 1 }),
  'half of it gone': ({ size }) => ({ size: Math.ceil(size / 2) }),
  'a fifth more': ({ size }) => ({ size: Math.min(60, Math.ceil((size * 6) / 5)) }),
  'a third more': ({ size }) => ({ size: Math.min(60, Math.ceil((size * 4) / 3)) }),
  'as many as can be': () => ({ size: 60 }),
  'twice as many': ({ size }) => ({ size: Math.min(60, 2 * size) }),
  'three without a name': ({ nameless }) => ({ nameless: nameless + 3 }),
  'none has a name': ({ size }) => ({ nameless: size }),
  'half without a name': ({ size }) => ({ nameless: Math.ceil(size / 2) }),
  'one code is a number': ({ numeric }) => ({ numeric: numeric + 1 }),
  'three codes are numbers': ({ numeric }) => ({ numeric: numeric + 3 }),
  'all codes are numbers': ({ size }) => ({ numeric: size }),
} satisfies Record<string, (shape: Shape) => Partial<Shape>>;
export type ListChange = keyof typeof LIST_CHANGES;

export type ProviderWorld = ReturnType<typeof createProviderWorld>;

/** @param isInside whether the list is at `data.banks` */
export const createProviderWorld = (world: World, history: History, isInside: boolean) => {
  const behaviours = new Map<
    number | 'all',
    { name: BehaviourName; retryAfterS: number | undefined }
  >();
  let shape = USUAL;
  /** Applied once more at each of so many calls. */
  let trend: { readonly change: ListChange; readonly everyCalls: number } | undefined;
  /** The tokens that are not answered with 401. */
  const accepted = new Set([TOKEN]);
  const slowness = new Map<number | 'all', { readonly ms: number; readonly isDeaf: boolean }>();
  const slownessOf = ({ process: { index } }: Caller) =>
    slowness.get(index) ?? slowness.get('all') ?? { ms: 0, isDeaf: false };

  /** By BANK_FIELDS and what is published. */
  const published = new Map<string, BankList>();
  /** By the bytes of a replica, which are looked up again and again. */
  const found = new WeakMap<Buffer, BankList>();
  /** From here on a replica may have the list. */
  const record = (call: Call, sent: Shape, entries: ReturnType<typeof toEntries>): void => {
    call.deliveredAtMs = world.nowMs();
    const json = toPublished(entries, call.process.fields);
    const key = `${call.process.fields} ${json}`;
    const list = published.get(key) ?? { shape: sent, json, askedAtMs: [], deliveredAtMs: [] };
    published.set(key, list);
    list.askedAtMs.push(Math.max(call.askedAtMs, list.askedAtMs.at(-1) ?? 0));
    list.deliveredAtMs.push(world.nowMs());
    call.list = list;
  };

  /**
   * Answers one call. What it returns is fed piece by piece, and ends with the whole, with an error
   * or never.
   */
  const answer = (call: Call, life: Caller, signal: AbortSignal): Promise<ExchangeResponse> =>
    new Promise((resolve, reject) => {
      const lag = (): number => Math.floor(world.luck(`lag ${life.name}`) ** 4 * 120) + 1;
      const later = (delayMs: number, what: string, run: () => void): void =>
        void world.later(
          delayMs,
          life,
          `provider ${what}`,
          () => void (call.endedAtMs === Infinity && run()),
        );
      signal.addEventListener('abort', () => {
        if (slownessOf(life).isDeaf) return;
        reject(signal.reason);
      });
      later(lag(), 'is asked', () => {
        if (trend && call.number % trend.everyCalls === 0)
          shape = toShape({ ...shape, ...LIST_CHANGES[trend.change](shape) });
        const { name, retryAfterS } =
          behaviours.get(life.process.index) ?? behaviours.get('all') ?? steady(call.number);
        const told: Behaviour = BEHAVIOURS[name];
        const isRefused = !accepted.has(call.token) && told.kind === undefined;
        const behaviour: Behaviour = isRefused ? BEHAVIOURS.unauthorized : told;
        const { status = 200, headers = JSON_TYPE, course = 'whole' } = behaviour;
        const kind = behaviour.kind ?? (shape.size < MIN_BANKS ? 'too_few' : undefined);
        const asked = status === 429 || status === 503 ? retryAfterS : undefined;
        if (course === 'refuse') {
          call.failure = 'unreachable';
          reject(new LoadError('unreachable', 'no connection'));
          return;
        }
        if (course === 'never') return;
        const entries = toEntries(shape, history.everyAnswerDiffers ? call.number : 0);
        const sent = shape;
        const hasAllFields = life.process.fields === ALL_FIELDS;
        // What is unusable depends on the fields, and what is added would be published.
        const isPlain = hasAllFields && !behaviour.kind;
        const content: Behaviour = isPlain ? BEHAVIOURS.healthy : behaviour;
        const form = hasAllFields ? 0 : call.number;
        const list = toBody(content.entries?.(entries) ?? entries, form);
        const whole = isInside ? inside(list) : list;
        const bytes = Buffer.from(behaviour.body ?? whole);
        const { ms: slowMs } = slownessOf(life);
        later(slowMs + lag(), 'answers', () => {
          if (kind) call.failure = kind;
          call.retryAfterMs = asked === undefined ? undefined : asked * 1_000;
          const all = asked === undefined ? headers : { ...headers, 'retry-after': String(asked) };
          const cut = new LoadError('malformed', 'the body of the response was cut short');
          if (course === 'cut') later(lag(), 'breaks off', () => reject(cut));
          if (course !== 'whole') return;
          later(slowMs > 0 ? lag() : 0, 'ends its response', () => {
            if (!kind && !signal.aborted) {
              record(call, sent, entries);
              call.hasNextPage = name === 'next-page';
              call.rejected = content.rejected?.(sent.size) ?? {};
            }
            resolve({ status, headers: all, body: bytes });
          });
        });
      });
    });

  return {
    /** What one replica sends its requests with. */
    connect:
      (life: Caller): Exchange =>
      async ({ signal, headers }) => {
        signal.throwIfAborted();
        life.onUse('the provider');
        const call: Call = {
          number: history.calls.length + 1,
          process: life.process,
          askedAtMs: world.nowMs(),
          isForced: life.refreshes > 0,
          hadList: life.hasList(),
          deliveredAtMs: Infinity,
          endedAtMs: Infinity,
          token: headers['authorization']?.replace('Bearer ', '') ?? '',
        };
        history.calls.push(call);
        try {
          return await answer(call, life, signal);
        } finally {
          call.endedAtMs = world.nowMs();
          if (!call.list) call.failure ??= 'timeout';
        }
      },
    /** The list that is published so; undefined: the provider has never sent it. */
    find: (fields: Fields, json: Buffer): BankList | undefined => {
      const list = found.get(json) ?? published.get(`${fields} ${json.toString()}`);
      if (list) found.set(json, list);
      return list;
    },
    behave: (who: number | 'all', name: BehaviourName, retryAfterS?: number): void => {
      if (name === 'healthy') behaviours.delete(who);
      else behaviours.set(who, { name, retryAfterS });
    },
    /** @param everyCalls the change goes on at each of so many calls; undefined: it does not */
    change: (change: ListChange, everyCalls: number | undefined): void => {
      shape = toShape({ ...shape, ...LIST_CHANGES[change](shape) });
      trend = everyCalls === undefined ? undefined : { change, everyCalls };
    },
    /** The list stays as it is. */
    holdStill: (): void => void (trend = undefined),
    accept: (token: string, isAccepted: boolean): void => {
      if (isAccepted) accepted.add(token);
      else accepted.delete(token);
    },
    /** @param isDeaf whether a call that its replica has given up goes on */
    slow: (who: number | 'all', ms: number, isDeaf: boolean): void => {
      if (ms === 0) slowness.delete(who);
      else slowness.set(who, { ms, isDeaf });
    },
  };
};

/** A provider that works: not all that it sends is right. */
const steady = (number: number): { name: BehaviourName; retryAfterS: undefined } => ({
  name: (['healthy', 'some-unusable', 'healthy', 'next-page'] as const)[number % 4] ?? 'healthy',
  retryAfterS: undefined,
});

/** The list in an object: what its body begins with is still there. */
const inside = (list: string): string => {
  const [mark = ''] = /^\ufeff?/.exec(list) ?? [];
  return `${mark}{"meta":{"banks":[]},"data":{"n":[1],"banks":${list.slice(mark.length)}}}`;
};
