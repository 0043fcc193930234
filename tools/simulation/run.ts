/* oxlint-disable no-await-in-loop -- one step after the other is what a simulation is */
import { OVERRIDABLE, type Overridable } from '../../src/banks/guard/guard.ts';
import type { History, Serving, Trouble } from './history.ts';
import type { Action } from './actions.ts';
import type { Event, Plan } from './plan.ts';
import { forged } from './forgery.ts';
import { createProviderWorld, type ListChange } from './provider.ts';
import { createRedisWorld, spoilt } from './redis.ts';
import {
  isRefused,
  kill,
  newMachine,
  refresh,
  start,
  stop,
  visit,
  wallMs,
  type Life,
  type Machine,
} from './replica.ts';
import { createWorld, newOwner, type Owner } from './world.ts';

// One run of a plan: a fleet is started, what is planned happens to it, and everything is healed.
// The result is the history.

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
/** For long enough to be noticed, and saved. */
const CLOCK_IS_KEPT_MS = 80 * SECOND;
/** Long enough for somebody to write the list again. */
const SPOILT_APART_MS = 2 * SECOND;
const DISK_WORKS = { fails: false, slowMs: 5 };

/** @param onStep is called with what happens */
export const run = async (
  { setup, events }: Plan,
  onStep: (atMs: number, what: string, owner: Owner) => void = () => {},
): Promise<{ readonly history: History; readonly steps: number; readonly endedAtMs: number }> => {
  const { hasRedis, hasSnapshot, everyAnswerDiffers } = setup;
  const history: History = {
    everyAnswerDiffers,
    hasRedis,
    hasSnapshot,
    processes: [],
    calls: [],
    servings: [],
    visits: [],
    readings: [],
    reports: [],
    refreshes: [],
    troubles: [],
    writes: [],
    eras: [],
    defects: [],
  };
  let steps = 0;
  const waiting = new Set<Event>();
  const world = createWorld(setup.seed, (what, owner) => {
    steps += 1;
    onStep(world.nowMs(), what, owner);
    for (const event of waiting)
      if (event.when !== undefined && what.startsWith(event.when)) {
        waiting.delete(event);
        performLater(event);
      }
  });
  /** To whom what is planned happens, and whatever else comes from outside. */
  const director = newOwner('director');
  const provider = createProviderWorld(world, history, setup.isInside);
  const redis = createRedisWorld(world, history);
  const surroundings = { world, history, provider, redis };
  const machines = Array.from({ length: setup.replicas }, (_, index) => newMachine(setup, index));
  const lives = (): Life[] => machines.flatMap(({ life }) => life ?? []);
  const isAwake = ({ state, asleepUntilMs }: Life): boolean =>
    state === 'running' && asleepUntilMs <= world.nowMs();

  // What is switched on until its time is over, or until something else takes its place.
  const lasting = new Map<string, symbol>();
  const record = (
    kind: Trouble['kind'],
    who: Trouble['who'],
    untilMs = world.nowMs(),
    what?: string,
  ): Trouble => {
    const trouble = { kind, who, fromMs: world.nowMs(), untilMs, what };
    history.troubles.push(trouble);
    return trouble;
  };
  const during = (name: string, trouble: Trouble, set: (isOn: boolean) => void): void => {
    const mine = Symbol(name);
    lasting.set(name, mine);
    set(true);
    world.later(trouble.untilMs - world.nowMs(), director, `end of ${name}`, () => {
      if (lasting.get(name) === mine) set(false);
    });
  };
  const until = (forMs: number): number => world.nowMs() + forMs;
  /** Unless all has been healed by then. */
  const later = (afterMs: number, what: string, happen: () => void): void =>
    void world.later(afterMs, director, what, () => {
      if (!isHealed) happen();
    });

  /** @param toAccept undefined: the operator leaves it as it is */
  const operate = (
    afterMs: number,
    { name }: Machine,
    toAccept: (life: Life) => readonly Overridable[] | undefined,
  ): void =>
    later(afterMs, `an operator of ${name}`, () => {
      const life = lives().find((each) => each.name === name && isAwake(each));
      const reasons = life && toAccept(life);
      if (reasons) void refresh(surroundings, life, reasons);
    });
  const loseDisk = ({ index, disk }: Machine): void => {
    record('disk', index, undefined, 'lost');
    disk.content = undefined;
  };
  const setClock = (machine: Machine, to: number | 'it stands still'): void => {
    for (const trouble of history.troubles)
      if (trouble.kind === 'clock' && trouble.who === machine.index)
        trouble.untilMs = Math.min(trouble.untilMs, world.nowMs());
    record('clock', machine.index, to === 'it stands still' ? Infinity : undefined);
    machine.wall = to === 'it stands still' ? { stoppedAtMs: world.dateMs() } : { errorMs: to };
  };
  const startLater = (machine: Machine, downMs: number): void => {
    const { life } = machine;
    // What heals everything starts it too.
    later(downMs, 'start', () => {
      // A process that is stopping ends at the latest now.
      if (machine.life !== life) return;
      kill(surroundings, machine);
      record('process', machine.index);
      start(surroundings, machine);
    });
  };
  const nextTo = (machine: Machine): Machine =>
    machines[(machine.index + 1) % machines.length] ?? machine;
  const cutOff = (machine: Machine, forMs: number): void => {
    const fault = { fault: 'refuses connections', forMs, isForAll: false } as const;
    perform.redis({ type: 'redis', ...fault }, machine);
  };
  const changeList = (change: ListChange, machine: Machine): void =>
    void perform.list({ type: 'list', change, everyCalls: undefined }, machine);
  const restart = (machine: Machine, downMs: number = SECOND): void =>
    void perform.kill({ type: 'kill', downMs, clockMs: null }, machine);
  const emptyRedis = (machine: Machine): void =>
    void perform['redis emptied']({ type: 'redis emptied' }, machine);
  const answerSlowly = (machine: Machine): void => {
    const slow = { ms: 1_500, isDeaf: false, forMs: 300 } as const;
    perform['provider slow']({ type: 'provider slow', ...slow }, machine);
  };
  /** An operator of `machine` asks while the provider fails so for a second. */
  const failOnce = (
    afterMs: number,
    machine: Machine,
    failure: Pick<Extract<Action, { type: 'provider' }>, 'behaviour' | 'retryAfterS' | 'isForAll'>,
  ): void => {
    later(afterMs, 'a failure', () =>
      perform.provider({ type: 'provider', ...failure, forMs: SECOND }, machine),
    );
    operate(afterMs + 50, machine, () => []);
  };
  const beginOutage = (machine: Machine, forMs: number, retryAfterS?: 600): void => {
    const outage = { behaviour: 'unavailable', retryAfterS, isForAll: true } as const;
    perform.provider({ type: 'provider', ...outage, forMs }, machine);
  };
  const perform: {
    readonly [T in Action['type']]: (
      action: Extract<Action, { type: T }>,
      machine: Machine,
    ) => unknown;
  } = {
    refresh: ({ isForAll, apartMs }, machine) => {
      for (const [index, each] of (isForAll ? machines : [machine]).entries())
        operate(index * apartMs, each, () => []);
    },
    accept: ({ reasons, another, isForAll, apartMs }, machine) => {
      for (const [index, each] of (isForAll ? machines : [machine]).entries())
        for (const asked of another ? [another, reasons] : [reasons])
          operate(index * apartMs, each, (life) => (isRefused(life) ? asked : undefined));
    },
    partition: ({ forMs, isAcceptedThereFirst, refreshesAfterMs }, machine) => {
      cutOff(machine, forMs);
      changeList('half of it gone', machine);
      const other = nextTo(machine);
      const inTurn = isAcceptedThereFirst ? [machine, other] : [other, machine];
      inTurn.forEach((each, turn) => operate((forMs * (turn + 1)) / 3, each, () => OVERRIDABLE));
      if (refreshesAfterMs !== null) operate(forMs + refreshesAfterMs, machine, () => []);
    },
    'restart apart': ({ isAccepted, forMs, anotherAskedAfterMs, clockMs }, machine) => {
      const other = nextTo(machine);
      changeList('half of it gone', machine);
      if (isAccepted) operate(50, machine, () => OVERRIDABLE);
      later(10 * SECOND, 'a restart', () => {
        cutOff(machine, forMs);
        perform.kill({ type: 'kill', downMs: SECOND, clockMs }, machine);
      });
      operate(14 * SECOND, machine, () => []);
      if (anotherAskedAfterMs !== null) operate(10 * SECOND + anotherAskedAfterMs, other, () => []);
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
    'limit meanwhile': ({ retryAfterS, isToldLess, killed, isAskedAgain }, machine) => {
      const other = nextTo(machine);
      const limit = (afterMs: number, seconds: 3 | 120 | 20_000): void =>
        failOnce(afterMs, other, {
          behaviour: 'rate-limited',
          retryAfterS: seconds,
          isForAll: false,
        });
      answerSlowly(machine);
      operate(0, machine, () => []);
      limit(350, retryAfterS);
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
        for (const each of machines.filter((one) => one !== other)) {
          loseDisk(each);
          restart(each, 2 * SECOND);
        }
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
      { isWithoutList, failures, starts, redisHangs, isRedisEmptiedAfterMs },
      machine,
    ) => {
      const others = machines.filter((each) => each !== machine);
      if (isWithoutList) {
        for (const each of machines) {
          loseDisk(each);
          restart(each);
        }
        emptyRedis(machine);
      }
      let fromMs = 1_500;
      for (const { forMs, ...failure } of failures) {
        later(fromMs, 'a failure', () =>
          perform.provider({ type: 'provider', ...failure, isForAll: true, forMs }, machine),
        );
        operate(fromMs + 50, machine, () => []);
        later(fromMs + 55, 'a browser comes', () => perform.visit({ type: 'visit' }, machine));
        fromMs += forMs;
      }
      const hanging = { forMs: fromMs, isForAll: true } as const;
      if (redisHangs !== null)
        later(SECOND, 'redis hangs', () =>
          perform.redis({ type: 'redis', fault: redisHangs, ...hanging }, machine),
        );
      for (const [index, { afterMs, hasDisk }] of starts.entries()) {
        const each = others[index];
        if (!each) continue;
        if (!hasDisk) loseDisk(each);
        restart(each, afterMs);
      }
      if (isRedisEmptiedAfterMs !== null)
        later(isRedisEmptiedAfterMs, 'redis loses all', () => emptyRedis(machine));
    },
    'all anew': (
      { behaviour, retryAfterS, forMs, become, apartMs, isFirstStopped, isAskedAfter, clockMs },
      last,
    ) => {
      perform.provider({ type: 'provider', behaviour, retryAfterS, forMs, isForAll: true }, last);
      if (become === 'older')
        perform['redis fail-over']({ type: 'redis fail-over', lostMs: 3.5 * setup.ttlMs }, last);
      else if (become === 'spoilt' && setup.isSigned)
        perform['redis spoilt']({ type: 'redis spoilt', times: 1, isForged: false }, last);
      else emptyRedis(last);
      for (const machine of machines) {
        const turn = (machine.index - last.index - 1 + machines.length) % machines.length;
        const downMs = (turn + 1) * apartMs;
        const isLast = machine === last;
        perform.kill({ type: 'kill', downMs, clockMs: isLast ? clockMs : null }, machine);
        if (!isLast) loseDisk(machine);
      }
      const first = nextTo(last);
      if (isFirstStopped)
        later(2 * apartMs + 150, 'the first one is stopped', () =>
          perform.stop({ type: 'stop', downMs: SECOND }, first),
        );
      if (isAskedAfter) operate(forMs + 10, last, () => []);
    },
    'anew in an outage': ({ isAll, retryAfterS }, machine) => {
      beginOutage(machine, 2 * setup.ttlMs, retryAfterS);
      later(1.3 * setup.ttlMs, 'all is stale', () => {
        if (!isAll) emptyRedis(machine);
        // The others have time to write what Redis has lost.
        const downMs = (isAll ? 2 : 20) * SECOND;
        for (const each of isAll ? machines : [machine]) {
          loseDisk(each);
          restart(each, downMs);
        }
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
    'disk fails at a start': ({ afterMs, forMs }, machine) => {
      restart(machine);
      later(SECOND + afterMs, 'the disk fails', () =>
        perform.disk({ type: 'disk', fails: true, slowMs: 5, forMs }, machine),
      );
      operate(SECOND + afterMs + forMs + 10 * SECOND, machine, () => []);
    },
    'clock corrected': ({ wrongByMs, isSetByStarts, isKept }, machine) => {
      if (!('errorMs' in machine.wall)) return;
      const { errorMs } = machine.wall;
      beginOutage(machine, 4 * CLOCK_IS_KEPT_MS);
      const settings = [errorMs + wrongByMs, ...(isKept ? [] : [errorMs])];
      settings.forEach((to, index) =>
        later(index * CLOCK_IS_KEPT_MS, 'a clock is set', () => {
          if (isSetByStarts[index])
            perform.kill({ type: 'kill', downMs: SECOND, clockMs: to }, machine);
          else perform['wall clock']({ type: 'wall clock', to }, machine);
        }),
      );
      later(settings.length * CLOCK_IS_KEPT_MS, 'killed once more', () => restart(machine));
    },
    visit: (_action, { life }) => life && isAwake(life) && visit(surroundings, life),
    kill: ({ downMs, clockMs }, machine) => {
      record('process', machine.index, until(downMs));
      kill(surroundings, machine);
      if (clockMs !== null) setClock(machine, clockMs);
      startLater(machine, downMs);
    },
    stop: ({ downMs }, machine) => {
      record('process', machine.index, until(downMs));
      // One that sleeps is told when it wakes up.
      if (machine.life)
        world.later(0, machine.life, 'is told to stop', () => void stop(surroundings, machine));
      startLater(machine, downMs);
    },
    sleep: ({ forMs: wantedMs, isMachine }, machine) => {
      const { life } = machine;
      if (!life || life.asleepUntilMs > world.nowMs()) return;
      const forMs = Math.min(wantedMs, setup.hours * HOUR - world.nowMs());
      record('sleep', machine.index, until(forMs));
      life.asleepUntilMs = until(forMs);
      // By a clock that stands still the sleep is seen a second too late: only the process sleeps.
      if (isMachine && 'errorMs' in machine.wall) machine.sleptMs += forMs;
    },
    'wall clock': ({ to }, machine) => {
      if (machine.life && machine.life.asleepUntilMs > world.nowMs()) return;
      setClock(machine, to);
    },
    disk: ({ forMs, ...faults }, { name, index, disk }) =>
      during(`disk of ${name}`, record('disk', index, until(forMs)), (isOn) =>
        Object.assign(disk, isOn ? faults : DISK_WORKS),
      ),
    snapshot: ({ become, isRestarted }, machine) => {
      const { disk, index } = machine;
      record('disk', index, undefined, become);
      const { content = Buffer.alloc(0) } = disk;
      if (become === 'lost') disk.content = undefined;
      else if (become === 'cut short') disk.content = content.subarray(0, content.length / 2);
      else if (setup.isSigned)
        disk.content =
          become === 'forged' ? forged(content) : spoilt(content, () => world.luck('garbage'));
      if (isRestarted) restart(machine);
    },
    provider: ({ behaviour, retryAfterS, forMs, isForAll }, { index }) => {
      const who = isForAll ? 'all' : index;
      during(`provider for ${who}`, record('provider', who, until(forMs)), (isOn) =>
        provider.behave(who, isOn ? behaviour : 'healthy', retryAfterS),
      );
    },
    'provider slow': ({ ms, isDeaf, forMs }) =>
      during('slowness', record('provider', 'all', until(forMs)), (isOn) =>
        provider.slow(isOn ? ms : 0, isOn && isDeaf),
      ),
    list: ({ change, everyCalls }) => {
      record('list', 'all');
      provider.change(change, everyCalls);
    },
    redis: ({ fault, forMs, isForAll }, { index }) => {
      const who = isForAll ? 'all' : index;
      const kind = fault.endsWith('messages') ? 'silent redis' : 'redis';
      during(`redis ${fault} for ${who}`, record(kind, who, until(forMs), fault), (isOn) =>
        redis.fault(who, fault, isOn),
      );
    },
    'redis connections': ({ become, isForAll }, { index }) => {
      const who = isForAll ? 'all' : index;
      record('redis', who);
      if (become === 'cut') redis.cut(who);
      else redis.halfOpen(who);
    },
    'redis fail-over': ({ lostMs }) => {
      record('redis', 'all');
      const accepted = history.refreshes.findLast(({ accepts }) => accepts.length > 0);
      redis.failOver(lostMs ?? world.nowMs() - (accepted?.atMs ?? 0));
    },
    'redis emptied': () => {
      record('silent redis', 'all');
      redis.empty();
    },
    'redis clock': ({ byMs }) => {
      record('redis clock', 'all');
      redis.setClock(byMs);
    },
    'redis spoilt': ({ times, isForged }) => {
      if (!setup.isSigned) return;
      for (let index = 0; index < times; index += 1)
        later(index * SPOILT_APART_MS, 'redis is spoilt', () => {
          record('silent redis', 'all', undefined, 'spoilt');
          redis.spoil(isForged);
        });
    },
  };
  let isHealed = false;
  const performLater = ({ plusMs, who, action }: Event): void =>
    later(plusMs, action.type, () => {
      const machine = machines[who % machines.length];
      if (machine) perform[action.type](action as never, machine);
    });
  for (const event of events)
    world.later(event.atMs, director, 'planned', () => {
      if (event.when === undefined) performLater(event);
      else waiting.add(event);
    });

  // Which list each process serves is looked up after each step in which it may have changed.
  const newest = new Map<Life, { readonly list: unknown; readonly serving: Serving }>();
  const observe = (life: Life): void => {
    if (life.state !== 'running' && life.state !== 'restoring') return;
    const before = newest.get(life);
    const found = life.core.list.served();
    const served = found?.list;
    if (before) before.serving.untilMs = world.nowMs();
    if (before && before.list === served) return;
    const list = served && provider.find(life.process.fields, served.json);
    if (served && !list)
      history.defects.push(`${life.name} serves a list that the provider never had`);
    if (before && before.serving.list === list) {
      newest.set(life, { list: served, serving: before.serving });
      return;
    }
    const [fromMs, wallFromMs] = [world.nowMs(), wallMs(world, life.machine)];
    const serving = { process: life.process, fromMs, wallFromMs, untilMs: fromMs, list };
    history.servings.push(serving);
    newest.set(life, { list: served, serving });
    // Somebody looks when it has just become stale or too old, by the truth and by what it says.
    const { ttlMs, maxStaleMs } = life.process;
    const ages = list
      ? [world.nowMs() - (list.askedAtMs.at(-1) ?? 0), ttlMs - (found?.freshForMs ?? 0)]
      : [];
    for (const leftMs of ages.flatMap((ageMs) => [ttlMs - ageMs, ttlMs + maxStaleMs - ageMs]))
      for (const afterMs of leftMs > 0 ? [leftMs, leftMs + 1, leftMs + 500] : [])
        world.later(afterMs, director, 'a browser comes', () => {
          if (isAwake(life)) void visit(surroundings, life);
        });
  };
  const runUntil = async (untilMs: number): Promise<void> => {
    while (history.defects.length === 0) {
      const owner = await world.step(untilMs);
      if (!owner) break;
      for (const { life } of machines)
        if (life && (owner === life || owner === director)) observe(life);
    }
  };

  const tickMs = setup.hours < 1 ? 5 * SECOND : setup.hours > 100 ? 6 * HOUR : HOUR / 4;
  const tick = (): void => {
    for (const life of lives()) if (isAwake(life)) void visit(surroundings, life);
    world.later(tickMs, director, 'tick', tick);
  };
  /** Just before an operator accepts, another one may ask for what is refused. */
  const accept = (life: Life): void => {
    const asked = OVERRIDABLE.filter(() => world.luck('operators') < 0.2);
    if (world.luck('operators') < 0.3) void refresh(surroundings, life, asked);
    void refresh(surroundings, life, OVERRIDABLE);
  };
  /** An operator is told that a replica refuses the provider's list, and accepts it there. */
  const attend = (attentionMs: number): void =>
    void world.later((0.5 + world.luck('attention')) * attentionMs, director, 'an alert', () => {
      const life = lives().find((each) => isAwake(each) && isRefused(each));
      if (life && !isHealed) accept(life);
      attend(attentionMs);
    });
  const heal = (): void => {
    isHealed = true;
    waiting.clear();
    lasting.clear();
    for (const trouble of history.troubles)
      if (trouble.kind !== 'clock') trouble.untilMs = Math.min(trouble.untilMs, world.nowMs());
    for (const who of ['all', ...machines.keys()] as const) provider.behave(who, 'healthy');
    provider.slow(0, false);
    provider.holdStill();
    redis.heal();
    record('redis', 'all');
    if (setup.remains) {
      redis.fault('all', setup.remains, true);
      record(setup.remains.endsWith('messages') ? 'silent redis' : 'redis', 'all', Infinity);
    }
    for (const machine of machines) {
      Object.assign(machine.disk, DISK_WORKS);
      const { life } = machine;
      if (life) life.asleepUntilMs = 0;
      if (life && life.state !== 'running' && life.state !== 'restoring')
        kill(surroundings, machine);
      if (machine.life) continue;
      record('process', machine.index);
      start(surroundings, machine);
    }
  };
  /**
   * An operator visits each replica and accepts where the provider's list is refused. Where a
   * replica does not load, the operator may ask it to.
   */
  const acceptEverywhere = (): void => {
    const isImpatient = world.luck('operators') < 0.5;
    machines.forEach((machine, index) =>
      world.later(index * 5 * SECOND, director, 'an operator comes', () => {
        const { life } = machine;
        if (life && isRefused(life)) accept(life);
        else if (life && isImpatient && index === 0) void refresh(surroundings, life, []);
      }),
    );
  };

  for (const machine of machines)
    world.later(world.luck('start') * 400, director, 'start', () => {
      record('process', machine.index);
      if (!machine.life) start(surroundings, machine);
    });
  tick();
  if (setup.attentionMs !== undefined) attend(setup.attentionMs);
  await runUntil(setup.hours * HOUR);
  world.later(0, director, 'all is healed', heal);
  // A minute after a lost message, and the longest wait after a failure.
  const longestRetryMs = Math.min(setup.ttlMs, 60 * SECOND);
  await runUntil(until(80 * SECOND + longestRetryMs));
  world.later(0, director, 'operators look', acceptEverywhere);
  await runUntil(until(45 * SECOND + 2 * longestRetryMs + 1.2 * Math.min(setup.ttlMs, 6 * HOUR)));
  for (const life of lives()) observe(life);
  // Somebody waits for each of them.
  for (const machine of machines) {
    const { life } = machine;
    if (life?.state === 'running')
      for (const reasons of [[], OVERRIDABLE]) void refresh(surroundings, life, reasons);
    const afterMs = world.luck('stop') * 60;
    world.later(afterMs, director, 'stop', () => void stop(surroundings, machine));
  }
  const endedAtMs = world.nowMs();
  await runUntil(until(30 * SECOND));
  return { history, steps, endedAtMs };
};
