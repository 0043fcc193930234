import type { EVENTS, Having } from './actions.ts';
import type { Director } from './director.ts';
import { HOUR, SECOND } from './durations.ts';
import { forged } from './forgery.ts';
import { spoilt } from './redis.ts';
import { changeSecretFile, isRefused, kill, start, stop, visit, type Machine } from './replica.ts';

// What each event does.

export const DISK_WORKS = { fails: false, slowMs: 5 };

export type Events = {
  readonly [T in keyof typeof EVENTS]: (having: Having<T>, machine: Machine) => unknown;
};

export const createEvents = (director: Director): Events => {
  const { setup, machines, world, history, provider, redis } = director;
  const { isAwake, record, during, until, later, operate } = director;

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
      kill(director, machine);
      record('process', machine.index);
      start(director, machine);
    });
  };
  const events: Events = {
    refresh: ({ isForAll, apartMs }, machine) => {
      for (const [index, each] of (isForAll ? machines : [machine]).entries())
        operate(index * apartMs, each, () => []);
    },
    accept: ({ reasons, another, isForAll, apartMs }, machine) => {
      for (const [index, each] of (isForAll ? machines : [machine]).entries())
        for (const asked of another ? [another, reasons] : [reasons])
          operate(index * apartMs, each, (life) => (isRefused(life) ? asked : undefined));
    },
    visit: (_action, { life }) => life && isAwake(life) && visit(director, life),
    kill: ({ downMs, clockMs }, machine) => {
      record('process', machine.index, until(downMs));
      kill(director, machine);
      if (clockMs !== null) setClock(machine, clockMs);
      startLater(machine, downMs);
    },
    stop: ({ downMs }, machine) => {
      record('process', machine.index, until(downMs));
      // One that sleeps is told when it wakes up.
      if (machine.life)
        world.later(0, machine.life, 'is told to stop', () => void stop(director, machine));
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
      if (isRestarted) events.kill({ downMs: SECOND, clockMs: null }, machine);
    },
    'secret file': ({ name, flaw, forMs, isForAll }, machine) => {
      for (const each of isForAll ? machines : [machine])
        during(
          `${name} of ${each.name}`,
          record('secret', each.index, until(forMs), name),
          (isOn) => changeSecretFile(director, each, name, { flaw: isOn ? flaw : undefined }),
        );
    },
    provider: ({ behaviour, retryAfterS, forMs, isForAll }, { index }) => {
      const who = isForAll ? 'all' : index;
      during(`provider for ${who}`, record('provider', who, until(forMs)), (isOn) =>
        provider.behave(who, isOn ? behaviour : 'healthy', retryAfterS),
      );
    },
    'provider slow': ({ ms, isDeaf, forMs, isForAll }, { index }) => {
      const who = isForAll ? 'all' : index;
      during(`slowness for ${who}`, record('provider', who, until(forMs)), (isOn) =>
        provider.slow(who, isOn ? ms : 0, isOn && isDeaf),
      );
    },
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
    'redis spoilt': ({ times, apartMs, isForged, part }) => {
      const damage = isForged ? 'forged' : 'spoilt';
      for (let index = 0; index < times; index += 1)
        later(index * apartMs, 'redis is spoilt', () => {
          record('silent redis', 'all', undefined, 'spoilt');
          redis.spoil(setup.isSigned ? damage : 'cut short', part);
        });
    },
  };
  return events;
};
