import { OVERRIDABLE } from '../../src/banks/guard/guard.ts';
import type { Having, SEQUENCES } from './actions.ts';
import { serialIn } from './bank-lists.ts';
import type { Director } from './director.ts';
import { DAY, MINUTE, SECOND } from './durations.ts';
import type { Events } from './events.ts';
import { UPGRADED } from './history.ts';
import { toPreviousFormat, type PreviousFormat } from './previous-release.ts';
import type { ListChange } from './provider.ts';
import { changeSecretFile, type Machine } from './replica.ts';
import { SECRET_NAMES, type Version } from './secret-files.ts';

// What each sequence does: events, one after the other.

/** For long enough to be noticed, and saved. */
const CLOCK_IS_KEPT_MS = 80 * SECOND;

/** Until an operator who waits for a secret that has arrived asks, or one that is wrong is noticed. */
const ARRIVED_MS = SECOND;
const WRONG_FOR_MS = 20 * SECOND;

export type Sequences = {
  readonly [T in keyof typeof SEQUENCES]: (having: Having<T>, machine: Machine) => unknown;
};

export const createSequences = (director: Director, events: Events): Sequences => {
  const { setup, machines, world, history, redis } = director;
  const { record, until, later, operate, accept } = director;

  const loseDisk = ({ index, disk }: Machine): void => {
    record('disk', index, undefined, 'lost');
    disk.content = undefined;
  };
  const nextTo = (machine: Machine): Machine =>
    machines[(machine.index + 1) % machines.length] ?? machine;
  /** Where `machine` comes in a round that begins with `first`; 0: it is that one. */
  const turnFrom = (first: Machine, machine: Machine): number =>
    (machine.index - first.index + machines.length) % machines.length;
  const cutOff = (machine: Machine, forMs: number): void =>
    void events.redis({ fault: 'refuses connections', forMs, isForAll: false }, machine);
  const changeList = (change: ListChange, machine: Machine): void =>
    void events.list({ change, everyCalls: undefined }, machine);
  const restart = (machine: Machine, downMs: number = SECOND): void =>
    void events.kill({ downMs, clockMs: null }, machine);
  const startWithoutDisk = (machine: Machine, downMs?: number): void => {
    loseDisk(machine);
    restart(machine, downMs);
  };
  const emptyRedis = (machine: Machine): void => void events['redis emptied']({}, machine);
  const answerSlowly = (machine: Machine): void =>
    void events['provider slow']({ ms: 1_500, isDeaf: false, forMs: 300, isForAll: true }, machine);
  /** An operator of `machine` asks while the provider fails so for a second. */
  const failOnce = (
    afterMs: number,
    machine: Machine,
    failure: Omit<Having<'provider'>, 'forMs'>,
  ): void => {
    later(afterMs, 'a failure', () => events.provider({ ...failure, forMs: SECOND }, machine));
    operate(afterMs + 50, machine, () => []);
  };
  const beginOutage = (machine: Machine, forMs: number, retryAfterS?: 600): void =>
    void events.provider({ behaviour: 'unavailable', retryAfterS, forMs, isForAll: true }, machine);

  const inherit = (
    where: number | 'redis',
    { bytes, requestId }: PreviousFormat,
    isIgnored: boolean,
  ): void => {
    const call = history.calls[serialIn(bytes.toString('latin1')) - 1];
    if (call) history.inherited.push({ atMs: world.nowMs(), where, call, requestId, isIgnored });
  };
  /** The disk has what the previous release would have saved, or nothing. */
  const becomePrevious = ({ index, disk, config }: Machine, isKept: boolean): void => {
    record('disk', index, undefined, UPGRADED);
    const previous = isKept && disk.content ? toPreviousFormat(disk.content) : undefined;
    disk.content = previous?.bytes;
    if (previous) inherit(index, previous, config.cache.signingKey !== undefined);
  };

  return {
    partition: ({ forMs, isThereFirst, isAccepted, refreshesAfterMs }, machine) => {
      cutOff(machine, forMs);
      changeList('half of it gone', machine);
      const other = nextTo(machine);
      const inTurn = isThereFirst ? [machine, other] : [other, machine];
      inTurn.forEach((each, turn) =>
        operate((forMs * (turn + 1)) / 3, each, () => (isAccepted[turn] ? OVERRIDABLE : [])),
      );
      if (refreshesAfterMs !== null) operate(forMs + refreshesAfterMs, machine, () => []);
    },
    'restart apart': ({ isAccepted, forMs, anotherAskedAfterMs, clockMs }, machine) => {
      const other = nextTo(machine);
      changeList('half of it gone', machine);
      if (isAccepted) operate(50, machine, () => OVERRIDABLE);
      later(10 * SECOND, 'a restart', () => {
        cutOff(machine, forMs);
        events.kill({ downMs: SECOND, clockMs }, machine);
      });
      operate(14 * SECOND, machine, () => []);
      if (anotherAskedAfterMs !== null) operate(10 * SECOND + anotherAskedAfterMs, other, () => []);
    },
    'ended apart': ({ change, isAccepted, isOtherLater, downMs }, machine) => {
      const other = nextTo(machine);
      cutOff(machine, 14 * SECOND);
      later(3 * SECOND, 'a list for one', () => changeList(change, machine));
      operate(3 * SECOND + 10, machine, () => (isAccepted ? OVERRIDABLE : []));
      later(6 * SECOND, 'as before', () => changeList('as usual', machine));
      operate(isOtherLater ? 7 * SECOND : 2 * SECOND, other, () => []);
      later(10 * SECOND, 'its end', () => restart(machine, downMs));
    },
    'loads apart': ({ apartMs, isLonger, isLaterCutOff, isRestarted }, machine) => {
      const other = nextTo(machine);
      const cut = isLaterCutOff ? other : machine;
      const [earlierMs, forMs] = [5 * SECOND, 12 * SECOND];
      changeList('as usual', machine);
      operate(10, machine, () => OVERRIDABLE);
      later(3 * SECOND, 'cut off', () => cutOff(cut, forMs));
      later(earlierMs, 'a slow answer', () => {
        answerSlowly(machine);
        if (isLonger) changeList('a fifth more', machine);
      });
      operate(earlierMs, machine, () => []);
      later(earlierMs + SECOND, 'as before', () => changeList('as usual', machine));
      operate(earlierMs + apartMs, other, () => []);
      if (isRestarted) later(forMs, 'a restart', () => restart(cut, 5 * SECOND));
      later(forMs + 16 * SECOND, 'a little is lost', () =>
        changeList('an eighth of it gone', machine),
      );
      operate(forMs + 16 * SECOND, cut, () => []);
    },
    overtaken: ({ isWithoutList, change, thenChange, laterMs, isAccepted, times }, machine) => {
      const other = nextTo(machine);
      const [isFirstAccepted, isOthersAccepted] = isAccepted;
      if (isWithoutList) {
        emptyRedis(machine);
        for (const each of machines) startWithoutDisk(each);
      }
      const startMs = isWithoutList ? SECOND : 0;
      for (let turn = 0; turn < times; turn += 1) {
        const fromMs = startMs + turn * 8 * SECOND;
        later(fromMs, 'a slow answer', () => {
          changeList(change, machine);
          answerSlowly(machine);
        });
        operate(fromMs, machine, () => (isFirstAccepted ? OVERRIDABLE : []));
        later(fromMs + laterMs, 'another list', () => {
          if (thenChange) changeList(thenChange, machine);
        });
        operate(fromMs + laterMs, other, () => (isOthersAccepted ? OVERRIDABLE : []));
      }
    },
    'limit meanwhile': (
      { limitAfterMs, retryAfterS, isToldLess, killed, isAskedAgain },
      machine,
    ) => {
      const other = nextTo(machine);
      const limit = (afterMs: number, seconds: 3 | 120 | 20_000): void =>
        failOnce(afterMs, other, {
          behaviour: 'rate-limited',
          retryAfterS: seconds,
          isForAll: false,
        });
      answerSlowly(machine);
      operate(0, machine, () => []);
      limit(limitAfterMs, retryAfterS);
      if (isToldLess) limit(5 * SECOND, 3);
      if (isAskedAgain) operate(20 * SECOND, machine, () => []);
      const [killedAfterMs, downMs] =
        killed === 'afterwards' ? [10 * SECOND, SECOND] : [1_200, 10 * SECOND];
      if (killed) later(killedAfterMs, 'killed', () => restart(machine, downMs));
    },
    'told to wait': (
      {
        retryAfterS,
        isWithoutList,
        failsOtherwise,
        isRedisEmptied,
        isGone,
        anotherStartsAfterMs,
        hasAnotherSnapshot,
      },
      machine,
    ) => {
      const other = nextTo(machine);
      restart(other, anotherStartsAfterMs);
      if (!hasAnotherSnapshot) loseDisk(other);
      if (isWithoutList) {
        for (const each of machines) if (each !== other) startWithoutDisk(each, 2 * SECOND);
        emptyRedis(other);
      }
      // It starts in this second.
      const [limit, refusal] = [
        { behaviour: 'rate-limited', retryAfterS, isForAll: true },
        { behaviour: 'forbidden', retryAfterS: undefined, isForAll: true },
      ] as const;
      failOnce(isWithoutList ? 1_500 : 2_500, machine, limit);
      if (failsOtherwise) failOnce(6 * SECOND, machine, refusal);
      if (isRedisEmptied) later(10 * SECOND, 'redis loses all', () => emptyRedis(other));
      if (isGone)
        later(12 * SECOND, 'it is gone', () => restart(machine, 2 * anotherStartsAfterMs));
    },
    'late starts': (
      { isWithoutList, failures, starts, redisHangs, redisClockMs, redisEmptiedAfterMs },
      machine,
    ) => {
      const others = machines.filter((each) => each !== machine);
      if (isWithoutList) {
        for (const each of machines) startWithoutDisk(each);
        emptyRedis(machine);
      }
      // Those without a list begin with a failure.
      let fromMs = isWithoutList ? 0 : 1_500;
      for (const { forMs, ...failure } of failures) {
        later(fromMs, 'a failure', () =>
          events.provider({ ...failure, isForAll: true, forMs }, machine),
        );
        operate(fromMs + 50, machine, () => []);
        later(fromMs + 55, 'a browser comes', () => events.visit({}, machine));
        fromMs += forMs;
      }
      const failingMs = fromMs;
      if (redisHangs !== null)
        later(SECOND, 'redis hangs', () =>
          events.redis({ fault: redisHangs, forMs: failingMs, isForAll: true }, machine),
        );
      if (redisClockMs !== null)
        later(failingMs / 2, 'redis has another clock', () =>
          events['redis clock']({ byMs: redisClockMs }, machine),
        );
      for (const [index, { afterMs, hasDisk }] of starts.entries()) {
        const each = others[index];
        if (!each) continue;
        if (hasDisk) restart(each, afterMs);
        else startWithoutDisk(each, afterMs);
      }
      if (redisEmptiedAfterMs !== null)
        later(redisEmptiedAfterMs, 'redis loses all', () => emptyRedis(machine));
    },
    'all anew': (
      { behaviour, retryAfterS, forMs, become, apartMs, firstIs, isAskedAfter, clockMs },
      last,
    ) => {
      events.provider({ behaviour, retryAfterS, forMs, isForAll: true }, last);
      if (become === 'older') events['redis fail-over']({ lostMs: 3.5 * setup.ttlMs }, last);
      else if (become === 'spoilt')
        events['redis spoilt'](
          { times: 1, apartMs: 2 * SECOND, isForged: false, part: 'all' },
          last,
        );
      else emptyRedis(last);
      for (const machine of machines) {
        const downMs = (turnFrom(nextTo(last), machine) + 1) * apartMs;
        const isLast = machine === last;
        events.kill({ downMs, clockMs: isLast ? clockMs : null }, machine);
        if (!isLast) loseDisk(machine);
      }
      const first = nextTo(last);
      if (firstIs)
        later(2 * apartMs + 150, 'the first one ends', () =>
          firstIs === 'stopped'
            ? events.stop({ downMs: SECOND }, first)
            : restart(first, 9 * SECOND),
        );
      if (isAskedAfter) operate(forMs + 10, last, () => []);
    },
    'anew in an outage': ({ isAll, retryAfterS }, machine) => {
      // There is an attempt in each minute of it.
      if (setup.ttlMs > DAY) return;
      // For long enough to reach the longest wait.
      beginOutage(machine, 2 * setup.ttlMs + 3 * MINUTE, retryAfterS);
      later(1.3 * setup.ttlMs, 'all is stale', () => {
        if (!isAll) emptyRedis(machine);
        // The others have time to write what Redis has lost.
        const downMs = (isAll ? 2 : 20) * SECOND;
        for (const each of isAll ? machines : [machine]) startWithoutDisk(each, downMs);
      });
    },
    'there and back': (
      { change, isAccepted, comesBack, thenChange, restartedBefore, isHandedOn },
      machine,
    ) => {
      const turns: readonly { readonly next: ListChange; readonly isToAccept: boolean }[] = [
        { next: 'as usual', isToAccept: true },
        { next: change, isToAccept: isAccepted },
        ...(comesBack ? [{ next: 'as usual' as const, isToAccept: false }] : []),
        { next: thenChange, isToAccept: false },
      ];
      for (const [index, { next, isToAccept }] of turns.entries()) {
        const afterMs = index * 6 * SECOND;
        const each = isHandedOn && index % 2 > 0 ? nextTo(machine) : machine;
        later(afterMs, 'another list', () => {
          changeList(next, each);
          if (restartedBefore === index) restart(each);
        });
        operate(afterMs + 3 * SECOND, each, () => (isToAccept ? OVERRIDABLE : []));
      }
    },
    upgrade: ({ change, listIs, isDown, isRedisKept, disksKept, apartMs }, machine) => {
      if (change) {
        changeList(change, machine);
        operate(50, machine, () => OVERRIDABLE);
      }
      // By then it has been saved everywhere.
      const savedMs = 10 * SECOND;
      const staleMs = 1.2 * setup.ttlMs;
      const waitMs = { fresh: 0, stale: staleMs, 'too old': staleMs + setup.maxStaleMs }[listIs];
      const startsMs = machines.length * apartMs;
      const downMs = waitMs + (isDown ? startsMs + 20 * SECOND : 0);
      if (downMs > 0) later(savedMs, 'an outage', () => beginOutage(machine, downMs));
      later(savedMs + waitMs, 'an upgrade', () => {
        for (const each of machines) {
          const turn = turnFrom(machine, each);
          restart(each, SECOND + turn * apartMs);
          becomePrevious(each, disksKept === 'all' || (disksKept === 'one' && turn === 1));
        }
        record('silent redis', 'all', undefined, UPGRADED);
        const found = redis.becomePrevious(setup.isSigned);
        if (!isRedisKept) emptyRedis(machine);
        for (const each of isRedisKept ? found : []) inherit('redis', each, setup.isSigned);
      });
      const afterMs = savedMs + waitMs + Math.max(startsMs, downMs - waitMs) + 3 * SECOND;
      // After an eighth too much, which only who remembers the list before that knows.
      later(afterMs, 'a little is lost', () => changeList('a fifth of it gone', machine));
      operate(afterMs + 10, machine, () => []);
    },
    'damaged again': ({ part, isForged, apartMs, startAnew, isDown, isAskedAfter }, machine) => {
      const times = 12;
      const damagedMs = times * apartMs;
      if (isDown) beginOutage(machine, damagedMs + 2 * MINUTE);
      events['redis spoilt']({ times, apartMs, isForged, part }, machine);
      const anew = {
        none: [],
        one: [machine],
        'all but one': machines.filter((each) => each !== machine),
        all: machines,
      }[startAnew];
      for (const [index, each] of anew.entries()) startWithoutDisk(each, (index + 1) * 4 * SECOND);
      if (isAskedAfter) operate(damagedMs + 10 * SECOND, nextTo(machine), () => []);
    },
    'slow loss': ({ change, everyLists, isHandedOn, isRestarted }, machine) => {
      for (let index = 0; index < 7 * everyLists; index += 1) {
        const afterMs = index * 1.5 * SECOND;
        const who = isHandedOn ? machine.index + index : machine.index;
        const each = machines[who % machines.length] ?? machine;
        later(afterMs, 'another list', () =>
          changeList(index % everyLists > 0 ? 'one bank renamed' : change, each),
        );
        operate(afterMs + 10, each, () => []);
      }
      if (isRestarted)
        later(3 * everyLists * 1.5 * SECOND + SECOND, 'a restart', () => restart(machine));
    },
    'disk is slow': ({ slowMs, apartMs, isAccepted }, machine) => {
      const forMs = 12 * SECOND;
      events.disk({ fails: false, slowMs, forMs }, machine);
      operate(10, machine, () => []);
      later(10 + apartMs / 2, 'another list', () => changeList('half of it gone', machine));
      operate(10 + apartMs, machine, () => (isAccepted ? OVERRIDABLE : []));
      later(20 * SECOND, 'an outage', () => {
        beginOutage(machine, 20 * SECOND);
        restart(machine);
      });
    },
    'disk fails at a start': ({ afterMs, forMs }, machine) => {
      restart(machine);
      later(SECOND + afterMs, 'the disk fails', () =>
        events.disk({ fails: true, slowMs: 5, forMs }, machine),
      );
      operate(SECOND + afterMs + forMs + 10 * SECOND, machine, () => []);
    },
    'secrets gone': ({ only, forMs, isForAll, isRestarted, isAsked }, machine) => {
      for (const name of only ? [only] : SECRET_NAMES)
        events['secret file']({ name, flaw: 'missing', forMs, isForAll }, machine);
      if (isRestarted) for (const each of isForAll ? machines : [machine]) restart(each);
      if (isAsked) operate(forMs / 2, machine, () => []);
    },
    rotation: ({ name, apartMs, isAsked, mistake, isRestarted, goesBackAfterMs }, machine) => {
      const change = (each: Machine, version: Version): void =>
        changeSecretFile(director, each, name, { version });
      const inTurn = [...machines.slice(machine.index), ...machines.slice(0, machine.index)];
      const wrongForMs = mistake === 'mistyped' ? WRONG_FOR_MS : 0;
      const lastMs = Math.max(wrongForMs, (inTurn.length - 1) * apartMs);
      const rotate = (from: Version, to: Version): void => {
        accept(name, to, true);
        if (mistake === 'revoked too early') accept(name, from, false);
        if (name === 'CACHE_SIGNING_KEY' || mistake)
          record(
            name === 'PROVIDER_ACCESS_TOKEN' ? 'provider' : 'secret',
            'all',
            until(lastMs),
            name,
          );
        if (mistake === 'mistyped') change(machine, 'mistyped');
        for (const [turn, each] of inTurn.entries()) {
          const afterMs = each === machine ? wrongForMs : turn * apartMs;
          later(afterMs, 'a secret is rotated', () => change(each, to));
          if (isAsked) operate(afterMs + ARRIVED_MS, each, () => []);
        }
        later(lastMs + 2 * ARRIVED_MS, 'revoked', () => accept(name, from, false));
      };
      rotate('first', 'second');
      if (isRestarted) later(lastMs + ARRIVED_MS / 2, 'a restart', () => restart(machine));
      if (goesBackAfterMs !== null)
        later(lastMs + goesBackAfterMs, 'all go back', () => rotate('second', 'first'));
    },
    'clock corrected': ({ wrongByMs, isSetByStarts, isKept }, machine) => {
      if (!('errorMs' in machine.wall)) return;
      const { errorMs } = machine.wall;
      beginOutage(machine, 4 * CLOCK_IS_KEPT_MS);
      const settings = [errorMs + wrongByMs, ...(isKept ? [] : [errorMs])];
      settings.forEach((to, index) =>
        later(index * CLOCK_IS_KEPT_MS, 'a clock is set', () => {
          if (isSetByStarts[index]) events.kill({ downMs: SECOND, clockMs: to }, machine);
          else events['wall clock']({ to }, machine);
        }),
      );
      later(settings.length * CLOCK_IS_KEPT_MS, 'killed once more', () => restart(machine));
    },
  };
};
