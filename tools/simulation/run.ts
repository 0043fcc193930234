/* oxlint-disable no-await-in-loop -- one step after the other is what a simulation is */
import { OVERRIDABLE } from '../../src/banks/guard/guard.ts';
import { createDirector } from './director.ts';
import { HOUR, SECOND } from './durations.ts';
import { createEvents, DISK_WORKS } from './events.ts';
import type { History, Serving } from './history.ts';
import type { Event, Plan } from './plan.ts';
import { createProviderWorld } from './provider.ts';
import { createRedisWorld } from './redis.ts';
import {
  changeSecretFile,
  isRefused,
  kill,
  newMachine,
  refresh,
  start,
  stop,
  visit,
  wallMs,
  type Life,
} from './replica.ts';
import { SECRET_NAMES } from './secret-files.ts';
import { createSequences } from './sequences.ts';
import { createWorld, type Owner } from './world.ts';

// One run of a plan: a fleet is started, what is planned happens to it, and everything is healed.
// The result is the history.

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
    inherited: [],
    eras: [],
    holdings: [],
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
  const provider = createProviderWorld(world, history, setup.isInside);
  const redis = createRedisWorld(world, history);
  const machines = Array.from({ length: setup.replicas }, (_, index) => newMachine(setup, index));
  const director = createDirector({ setup, world, history, provider, redis, machines });
  const { lives, isAwake, record, until, later } = director;
  // What the files hold from the beginning is recorded too.
  for (const machine of machines)
    for (const name of machine.secretFiles.keys()) changeSecretFile(director, machine, name, {});
  const happens = createEvents(director);
  const perform = { ...happens, ...createSequences(director, happens) };

  const performLater = ({ plusMs, who, action }: Event): void =>
    later(plusMs, action.type, () => {
      const machine = machines[who % machines.length];
      if (machine) perform[action.type](action as never, machine);
    });
  for (const event of events)
    world.later(event.atMs, director.owner, 'planned', () => {
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
        world.later(afterMs, director.owner, 'a browser comes', () => {
          if (isAwake(life)) void visit(director, life);
        });
  };
  const runUntil = async (untilMs: number): Promise<void> => {
    while (history.defects.length === 0) {
      const owner = await world.step(untilMs);
      if (!owner) break;
      for (const { life } of machines)
        if (life && (owner === life || owner === director.owner)) observe(life);
    }
  };

  const tickMs = setup.hours < 1 ? 5 * SECOND : setup.hours > 100 ? 6 * HOUR : HOUR / 4;
  const tick = (): void => {
    for (const life of lives()) if (isAwake(life)) void visit(director, life);
    world.later(tickMs, director.owner, 'tick', tick);
  };
  /** Just before an operator accepts, another one may ask for what is refused. */
  const accept = (life: Life): void => {
    const asked = OVERRIDABLE.filter(() => world.luck('operators') < 0.2);
    if (world.luck('operators') < 0.3) void refresh(director, life, asked);
    void refresh(director, life, OVERRIDABLE);
  };
  /** An operator is told that a replica refuses the provider's list, and accepts it there. */
  const attend = (attentionMs: number): void =>
    void world.later(
      (0.5 + world.luck('attention')) * attentionMs,
      director.owner,
      'an alert',
      () => {
        const life = lives().find((each) => isAwake(each) && isRefused(each));
        if (life && !director.isHealed()) accept(life);
        attend(attentionMs);
      },
    );
  /** All have the first version of each secret, or all have the second one. */
  const healSecrets = (): void => {
    for (const name of SECRET_NAMES) {
      const isSecond = machines[0]?.secretFiles.get(name)?.version === 'second';
      record('secret', 'all', undefined, name);
      for (const version of ['first', 'second'] as const) director.accept(name, version, true);
      for (const machine of machines)
        changeSecretFile(director, machine, name, {
          version: isSecond ? 'second' : 'first',
          flaw: undefined,
        });
    }
  };
  const heal = (): void => {
    director.heal();
    waiting.clear();
    for (const trouble of history.troubles)
      if (trouble.kind !== 'clock') trouble.untilMs = Math.min(trouble.untilMs, world.nowMs());
    for (const who of ['all', ...machines.keys()] as const) {
      provider.behave(who, 'healthy');
      provider.slow(who, 0, false);
    }
    provider.holdStill();
    if (setup.hasSecretFiles) healSecrets();
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
      if (life && life.state !== 'running' && life.state !== 'restoring') kill(director, machine);
      if (machine.life) continue;
      record('process', machine.index);
      start(director, machine);
    }
  };
  /**
   * An operator visits each replica and accepts where the provider's list is refused. Where a
   * replica does not load, the operator may ask it to.
   */
  const acceptEverywhere = (): void => {
    const isImpatient = world.luck('operators') < 0.5;
    machines.forEach((machine, index) =>
      world.later(index * 5 * SECOND, director.owner, 'an operator comes', () => {
        const { life } = machine;
        if (life && isRefused(life)) accept(life);
        else if (life && isImpatient && index === 0) void refresh(director, life, []);
      }),
    );
  };

  for (const machine of machines)
    world.later(world.luck('start') * 400, director.owner, 'start', () => {
      record('process', machine.index);
      if (!machine.life) start(director, machine);
    });
  tick();
  if (setup.attentionMs !== undefined) attend(setup.attentionMs);
  await runUntil(setup.hours * HOUR);
  world.later(0, director.owner, 'all is healed', heal);
  // A minute after a lost message, and the longest wait after a failure.
  const longestRetryMs = Math.min(setup.ttlMs, 60 * SECOND);
  await runUntil(until(80 * SECOND + longestRetryMs));
  world.later(0, director.owner, 'operators look', acceptEverywhere);
  await runUntil(until(45 * SECOND + 2 * longestRetryMs + 1.2 * Math.min(setup.ttlMs, 6 * HOUR)));
  for (const life of lives()) observe(life);
  // Somebody waits for each of them.
  for (const machine of machines) {
    const { life } = machine;
    if (life?.state === 'running')
      for (const reasons of [[], OVERRIDABLE]) void refresh(director, life, reasons);
    const afterMs = world.luck('stop') * 60;
    world.later(afterMs, director.owner, 'stop', () => void stop(director, machine));
  }
  const endedAtMs = world.nowMs();
  await runUntil(until(30 * SECOND));
  return { history, steps, endedAtMs };
};
