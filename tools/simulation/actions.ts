import * as fc from 'fast-check';
import type { Overridable } from '../../src/banks/guard/guard.ts';
import { DAY, HOUR, MINUTE, SECOND } from './durations.ts';
import { BEHAVIOURS, LIST_CHANGES, type BehaviourName, type ListChange } from './provider.ts';
import { PARTS, REDIS_FAULTS, type RedisFault } from './redis.ts';
import { FLAWS, SECRET_NAMES, type Flaw } from './secret-files.ts';

// What can happen to a fleet: how often, and with what. `isForAll`: to all replicas, or to that of
// the event. `needs`: the stores, or the secrets in files, without which it means nothing.

/** Durations from some milliseconds on: as many in each power of ten. */
const lasting = (longestMs: number): fc.Arbitrary<number> =>
  fc.nat({ max: 60 }).map((step) => Math.round(20 * (longestMs / 20) ** (step / 60)));
const keys = <K extends string>(record: Readonly<Record<K, unknown>>): fc.Arbitrary<K> =>
  fc.constantFrom(...(Object.keys(record) as K[]));

/** Errors of a wall clock: by parts of a second, by days, by years. */
export const clockErrorMs = fc.constantFrom(
  -700,
  400,
  -5 * MINUTE,
  -30 * MINUTE,
  90 * SECOND,
  -8 * DAY,
  8 * DAY,
  3_650 * DAY,
  -3_650 * DAY,
);

/** Between what happens to one replica and to the next. */
const apartMs = fc.constantFrom(0, 5, 40, 4_000);

/** One thing at a time. */
export const EVENTS = {
  refresh: { weight: 2, having: { isForAll: fc.boolean(), apartMs } },
  /**
   * Operators accept the provider's list where a replica refuses it, at once or one by one; another
   * one asks there at the same moment, for something else.
   */
  accept: {
    weight: 4,
    having: {
      reasons: fc.constantFrom<Overridable[][]>(['shrunk'], ['drifted'], ['shrunk', 'drifted']),
      another: fc.option(fc.constantFrom<Overridable[][]>([], ['shrunk'], ['drifted'])),
      isForAll: fc.boolean(),
      apartMs,
    },
  },
  visit: { weight: 1, having: {} },
  /** As by a loss of power: its clock may be wrong afterwards. */
  kill: {
    weight: 2,
    having: { downMs: lasting(HOUR), clockMs: fc.option(clockErrorMs, { freq: 2 }) },
  },
  stop: { weight: 2, having: { downMs: lasting(HOUR) } },
  /** The machine is suspended, or only the process is. */
  sleep: { weight: 2, having: { forMs: lasting(4 * HOUR), isMachine: fc.boolean() } },
  'wall clock': {
    weight: 3,
    having: { to: fc.oneof(clockErrorMs, fc.constantFrom(0, 0, 'it stands still' as const)) },
  },
  disk: {
    needs: 'snapshot',
    weight: 1,
    having: { fails: fc.boolean(), slowMs: lasting(5 * SECOND), forMs: lasting(HOUR) },
  },
  /** Somebody deletes it or writes into it; what is signed may have changed anywhere, or be forged. */
  snapshot: {
    needs: 'snapshot',
    weight: 1,
    having: {
      become: fc.constantFrom('lost', 'cut short', 'spoilt', 'forged'),
      isRestarted: fc.boolean(),
    },
  },
  'secret file': {
    needs: 'secret files',
    weight: 2,
    having: {
      name: fc.constantFrom(...SECRET_NAMES),
      flaw: keys<Flaw>(FLAWS),
      forMs: lasting(HOUR),
      isForAll: fc.boolean(),
    },
  },
  provider: {
    weight: 5,
    having: {
      behaviour: fc.oneof(
        { weight: 3, arbitrary: keys<BehaviourName>(BEHAVIOURS) },
        { weight: 1, arbitrary: fc.constantFrom<BehaviourName[]>('rate-limited', 'unavailable') },
      ),
      retryAfterS: fc.constantFrom(undefined, 3, 120, 600, 20_000, 100_000),
      forMs: lasting(HOUR),
      isForAll: fc.constantFrom(true, true, true, false),
    },
  },
  'provider slow': {
    weight: 2,
    having: {
      ms: fc.constantFrom(300, 1_500, 1_900, 2_500, 4_500),
      isDeaf: fc.boolean(),
      forMs: lasting(HOUR / 2),
      isForAll: fc.constantFrom(true, true, true, false),
    },
  },
  list: {
    weight: 5,
    having: {
      change: fc.oneof(
        keys<ListChange>(LIST_CHANGES),
        fc.constantFrom<ListChange[]>('as usual', 'an eighth of it gone'),
      ),
      /** Once, or once more at each call, or at each fifth. */
      everyCalls: fc.constantFrom(undefined, undefined, undefined, 1, 5),
    },
  },
  redis: {
    needs: 'redis',
    weight: 5,
    having: {
      fault: fc.constantFrom<RedisFault[]>(...REDIS_FAULTS),
      forMs: lasting(HOUR / 2),
      isForAll: fc.boolean(),
    },
  },
  'redis connections': {
    needs: 'redis',
    weight: 1,
    having: { become: fc.constantFrom('cut', 'half-open'), isForAll: fc.boolean() },
  },
  /**
   * Another server takes over, with older data: null stands for those before an operator accepted a
   * list. After a long time, with none.
   */
  'redis fail-over': {
    needs: 'redis',
    weight: 3,
    having: { lostMs: fc.option(lasting(DAY), { freq: 2 }) },
  },
  'redis emptied': { needs: 'redis', weight: 1, having: {} },
  'redis clock': { needs: 'redis', weight: 1, having: { byMs: clockErrorMs } },
  /**
   * Somebody without the key changes what it has, once or again and again, at random or into
   * something that only its signature tells from what a replica writes. Without a key, what it has
   * is only cut short, which every reader notices.
   */
  'redis spoilt': {
    needs: 'redis',
    weight: 2,
    having: {
      times: fc.constantFrom(1, 1, 12),
      apartMs: fc.constantFrom(2 * SECOND, 8 * SECOND),
      isForged: fc.boolean(),
      part: fc.constantFrom('all' as const, ...PARTS),
    },
  },
};

/** What belongs together, as it goes on for up to some minutes. */
export const SEQUENCES = {
  /**
   * Half of the list goes while a replica is cut off from Redis; operators accept it there,
   * elsewhere or both, and ask again when it is back.
   */
  partition: {
    needs: 'redis',
    weight: 2,
    having: {
      forMs: fc.constantFrom(15 * SECOND, MINUTE),
      isThereFirst: fc.boolean(),
      isAccepted: fc.constantFrom([true, true], [true, true], [true, false], [false, true]),
      refreshesAfterMs: fc.option(apartMs),
    },
  },
  /**
   * Operators accept half a list. A replica starts again from its snapshot while it is cut off from
   * Redis, and is asked for a list; another one may be asked too, meanwhile or afterwards.
   */
  'restart apart': {
    needs: 'both',
    weight: 2,
    having: {
      isAccepted: fc.boolean(),
      forMs: fc.constantFrom(20 * SECOND, MINUTE),
      anotherAskedAfterMs: fc.option(fc.constantFrom(5 * SECOND, 15 * SECOND, 2 * MINUTE)),
      clockMs: fc.option(clockErrorMs, { freq: 2 }),
    },
  },
  /**
   * A replica that is cut off from Redis loads a list, which an operator may accept, and ends. The
   * others load one too. It starts again with its snapshot once it can reach Redis.
   */
  'ended apart': {
    needs: 'both',
    weight: 2,
    having: {
      change: fc.constantFrom<ListChange[]>(
        'half of it gone',
        'an eighth of it gone',
        'a fifth more',
      ),
      isAccepted: fc.boolean(),
      isOtherLater: fc.boolean(),
      downMs: fc.constantFrom(8 * SECOND, MINUTE),
    },
  },
  /**
   * Two replicas load without knowing of each other, and the earlier question is answered later,
   * perhaps with a longer list. Then one of them may start again, from its snapshot if it has one,
   * beside what Redis has. Afterwards a little is lost.
   */
  'loads apart': {
    needs: 'redis',
    weight: 2,
    having: {
      apartMs: fc.constantFrom(1_200, 4_000),
      isLonger: fc.boolean(),
      isLaterCutOff: fc.boolean(),
      isRestarted: fc.boolean(),
    },
  },
  /**
   * While a replica waits for a slow answer, perhaps without a list to serve, a list of another one
   * comes first, which may be another list, and which an operator may have to accept.
   */
  overtaken: {
    needs: 'redis',
    weight: 4,
    having: {
      isWithoutList: fc.boolean(),
      change: fc.constantFrom<ListChange[]>('as usual', 'a fifth more', 'half of it gone'),
      thenChange: fc.constantFrom<(ListChange | undefined)[]>(
        undefined,
        'as usual',
        'half of it gone',
        'twice as many',
        'none has a name',
      ),
      laterMs: fc.integer({ min: 320, max: 1_400 }),
      isAccepted: fc.tuple(fc.boolean(), fc.boolean()),
      times: fc.constantFrom(1, 1, 3),
    },
  },
  /**
   * One replica is told to wait while a slow answer is on its way to another one, and may be told
   * again, to wait for less; an operator may ask the other one again, which ends the wait.
   */
  'limit meanwhile': {
    weight: 2,
    having: {
      limitAfterMs: fc.integer({ min: 300, max: 1_700 }),
      retryAfterS: fc.constantFrom(120, 20_000),
      isToldLess: fc.boolean(),
      killed: fc.constantFrom(undefined, 'while it waits for the answer', 'afterwards'),
      isAskedAgain: fc.boolean(),
    },
  },
  /**
   * A replica is told to wait, with a list to serve or without one. Its next attempt may fail for
   * another reason, Redis may lose all, and it may be gone when another replica starts.
   */
  'told to wait': {
    needs: 'redis',
    weight: 3,
    having: {
      retryAfterS: fc.constantFrom(120, 600, 20_000),
      isWithoutList: fc.boolean(),
      failsOtherwise: fc.boolean(),
      isRedisEmptied: fc.boolean(),
      isGone: fc.boolean(),
      anotherStartsAfterMs: fc.constantFrom(20 * SECOND, 75 * SECOND, 150 * SECOND),
      hasAnotherSnapshot: fc.boolean(),
    },
  },
  /**
   * The provider fails in one way after the other, and an operator and a browser ask each time.
   * Meanwhile other replicas start, with their disk or without, and Redis may hang, lose all or get
   * another clock.
   */
  'late starts': {
    needs: 'redis',
    weight: 4,
    having: {
      isWithoutList: fc.boolean(),
      failures: fc.array(
        fc.record({
          behaviour: fc.constantFrom<BehaviourName[]>(
            'rate-limited',
            'unavailable',
            'hang',
            'hang',
            'forbidden',
          ),
          retryAfterS: fc.constantFrom(undefined, 3, 120, 600),
          forMs: fc.constantFrom(2 * SECOND, 20 * SECOND, MINUTE),
        }),
        { minLength: 1, maxLength: 3 },
      ),
      starts: fc.array(
        fc.record({ afterMs: fc.integer({ min: 20, max: 120_000 }), hasDisk: fc.boolean() }),
        {
          minLength: 1,
          maxLength: 4,
        },
      ),
      redisHangs: fc.option(fc.constantFrom<RedisFault[]>('hangs on writes', 'is slow'), {
        freq: 1,
      }),
      redisClockMs: fc.option(clockErrorMs, { freq: 1 }),
      redisEmptiedAfterMs: fc.option(fc.constantFrom(4 * SECOND, 30 * SECOND), { freq: 1 }),
    },
  },
  /**
   * All is lost but the disk of one replica, which starts last; Redis may have older data, or what
   * nobody can use; the provider may be down. The first one may end while it loads, and an operator
   * may ask as soon as the provider is back. The clock of the last one may be wrong then.
   */
  'all anew': {
    needs: 'redis',
    weight: 2,
    having: {
      behaviour: fc.constantFrom<BehaviourName[]>('healthy', 'hang', 'hang', 'unavailable'),
      retryAfterS: fc.constantFrom(undefined, 20_000),
      forMs: fc.constantFrom(20 * SECOND, MINUTE),
      become: fc.constantFrom('emptied', 'spoilt', 'older'),
      apartMs: fc.constantFrom(SECOND, 7 * SECOND),
      firstIs: fc.constantFrom(undefined, 'stopped', 'killed'),
      isAskedAfter: fc.boolean(),
      clockMs: fc.option(clockErrorMs, { freq: 2 }),
    },
  },
  /**
   * In an outage, once lists are stale, Redis loses its list and one replica starts without one, or
   * Redis keeps it and all start without one.
   */
  'anew in an outage': {
    needs: 'redis',
    weight: 1,
    having: { isAll: fc.boolean(), retryAfterS: fc.constantFrom(undefined, 600) },
  },
  /**
   * A list other than the usual one comes, which operators may accept; the usual one comes back, or
   * not; then a little is lost. Each is for an operator of the same replica or of two in turn, and
   * one of them may have started again just before.
   */
  'there and back': {
    weight: 4,
    having: {
      change: fc.constantFrom<ListChange[]>(
        'a fifth more',
        'a third more',
        'twice as many',
        'a fifth of it gone',
        'half of it gone',
        'three without a name',
        'none has a name',
        'all codes are numbers',
      ),
      isAccepted: fc.boolean(),
      comesBack: fc.constantFrom(true, true, false),
      thenChange: fc.constantFrom<ListChange[]>(
        'an eighth of it gone',
        'a fifth of it gone',
        'three without a name',
        'three codes are numbers',
      ),
      restartedBefore: fc.option(fc.nat({ max: 3 }), { freq: 1 }),
      isHandedOn: fc.boolean(),
    },
  },
  /**
   * All replicas end, and start one after the other with what the previous release would have saved
   * by then: in Redis, on their disks, or on those of some. The list may be one that an operator has
   * accepted. The provider may be down, perhaps since long before. Once it is not, a little is lost.
   */
  upgrade: {
    needs: 'any',
    weight: 3,
    having: {
      change: fc.constantFrom<(ListChange | undefined)[]>(
        undefined,
        'an eighth of it gone',
        'half of it gone',
      ),
      listIs: fc.constantFrom('fresh', 'fresh', 'stale', 'too old'),
      isDown: fc.boolean(),
      isRedisKept: fc.constantFrom(true, true, false),
      disksKept: fc.constantFrom('all', 'one', 'none'),
      apartMs: fc.constantFrom(SECOND, 7 * SECOND),
    },
  },
  /**
   * Somebody damages Redis again and again for up to a minute and a half. Meanwhile replicas start
   * without their disks, the provider may be down, and operators ask afterwards.
   */
  'damaged again': {
    needs: 'redis',
    weight: 3,
    having: {
      part: fc.constantFrom(...PARTS, 'list' as const),
      isForged: fc.boolean(),
      /** The second one lets a replica replace more than eight in a minute. */
      apartMs: fc.constantFrom(3 * SECOND, 5 * SECOND, 5 * SECOND),
      startAnew: fc.constantFrom('none', 'one', 'all but one', 'all'),
      isDown: fc.boolean(),
      isAskedAfter: fc.boolean(),
    },
  },
  /** Many lists, each for an operator of one replica or of all in turn: now and then a little goes. */
  'slow loss': {
    weight: 3,
    having: {
      change: fc.constantFrom<ListChange[]>(
        'one of it gone',
        'one without a name',
        'one code is a number',
      ),
      everyLists: fc.constantFrom(3, 4, 5),
      isHandedOn: fc.boolean(),
      isRestarted: fc.boolean(),
    },
  },
  /** The disk is slow while lists come. In the outage that follows its replica starts again. */
  'disk is slow': {
    needs: 'snapshot',
    weight: 2,
    having: {
      slowMs: fc.constantFrom(500, 3 * SECOND),
      apartMs: fc.constantFrom(100, 400, 2 * SECOND),
      isAccepted: fc.boolean(),
    },
  },
  /** The disk fails once a snapshot has been read; an operator asks for a list when it works again. */
  'disk fails at a start': {
    needs: 'snapshot',
    weight: 1,
    having: { afterMs: fc.constantFrom(0, 5, 20, 60), forMs: fc.constantFrom(SECOND, MINUTE) },
  },
  /**
   * The volume with all secrets is gone for a while, or one file in it, on one machine or on all; it
   * may be that they start again without it. An operator asks meanwhile.
   */
  'secrets gone': {
    needs: 'secret files',
    weight: 6,
    having: {
      only: fc.option(fc.constantFrom(...SECRET_NAMES), { nil: undefined, freq: 2 }),
      forMs: fc.constantFrom(60, 5 * SECOND, MINUTE, 3 * MINUTE),
      isForAll: fc.constantFrom(false, false, true),
      isRestarted: fc.boolean(),
      isAsked: fc.boolean(),
    },
  },
  /**
   * A secret is rotated, step by step: docs/operations.md. It may be that one machine gets a wrong
   * one first, or that the old one is revoked before all have the new one. Then all may go back.
   */
  rotation: {
    needs: 'secret files',
    weight: 8,
    having: {
      name: fc.constantFrom(...SECRET_NAMES),
      apartMs,
      isAsked: fc.boolean(),
      mistake: fc.constantFrom(undefined, undefined, 'mistyped', 'revoked too early'),
      isRestarted: fc.boolean(),
      goesBackAfterMs: fc.option(fc.constantFrom(5 * SECOND, MINUTE)),
    },
  },
  /**
   * In an outage a wall clock is wrong for a while, and right again, or stays as it is: while the
   * process runs, or each time after it was killed.
   */
  'clock corrected': {
    needs: 'snapshot',
    weight: 2,
    having: {
      wrongByMs: clockErrorMs,
      isSetByStarts: fc.tuple(fc.boolean(), fc.boolean()),
      isKept: fc.boolean(),
    },
  },
};

/** How a kind of action is made up. */
export interface ActionKind {
  readonly needs?: string;
  readonly weight: number;
  readonly having: Readonly<Record<string, fc.Arbitrary<unknown>>>;
}

const ACTIONS = { ...EVENTS, ...SEQUENCES };

type Made<T> = { readonly [K in keyof T]: T[K] extends fc.Arbitrary<infer V> ? V : never };
export type Action = {
  [T in keyof typeof ACTIONS]: { readonly type: T } & Made<(typeof ACTIONS)[T]['having']>;
}[keyof typeof ACTIONS];

/** What an action of a type is made with. */
export type Having<T extends Action['type']> = Omit<Extract<Action, { type: T }>, 'type'>;
