/* oxlint-disable no-await-in-loop -- one step after the other is what a simulation is */
import type { Config } from '../src/config/config.ts';
import type { Action, Event, Plan } from './events.ts';
import { createJudge } from './judge.ts';
import { watchProcess } from './judges/limits.ts';
import { createProviderWorld, LIST_CHANGES } from './provider.ts';
import { createRedisWorld, REDIS_ONCE } from './redis.ts';
import { createReplicas, newReplica, toConfig, type Life, type Replica } from './replica.ts';
import { createWorld, DIRECTOR, type Owner } from './world.ts';

// One run of a plan: a fleet is started, what is planned happens to it, everything is healed, and it is stopped.

const SECOND = 1_000;
/** A disk that works. */
const WELL = { fails: false, slowMs: 5 };

/** @param onStep is told what happens */
export const run = async (
  plan: Plan,
  onStep: (atMs: number, what: string, owner: Owner) => void = () => {},
) => {
  const { setup, events } = plan;
  const world = createWorld(setup.seed);
  const nowAndThenMs = setup.hours < 1 ? 5 * SECOND : 900 * SECOND;
  const provider = createProviderWorld(world, setup);
  const redis = createRedisWorld(world);
  const configs = [setup.ttlMs, setup.otherTtlMs].map((ttlMs) => toConfig(setup, ttlMs));
  const replicas = Array.from({ length: setup.replicas }, (_, index) =>
    newReplica(`replica ${index}`, configs[index % 2] as Config),
  );
  const lifecycle = createReplicas(world, setup, provider, redis);
  let [steps, calls] = [0, 0];
  world.news.on('step', (what, owner) => {
    steps += 1;
    onStep(world.nowMs(), what, owner);
  });
  world.news.on('call', () => void (calls += 1));
  const judge = createJudge(world, plan, { provider, redis, replicas });
  const { court, refresh, request } = judge;
  const endWatch = watchProcess(court.broken);
  const lives = (): Life[] => replicas.flatMap(({ life }) => (life ? [life] : []));

  /** More than eight times in a row. */
  const isRefused = ({ core }: Life): boolean => {
    const { failure, failing } = core.list.status();
    return (failure?.kind === 'shrunk' || failure?.kind === 'drifted') && (failing?.attempts ?? 0) > 8;
  };
  world.news.on('list-load-failed', (life) => {
    if (!isRefused(life)) return;
    const delayMs = world.luck('an operator') * Math.min(nowAndThenMs, 60 * SECOND);
    world.later(delayMs, life, 'an operator looks', () => {
      if (life.state === 'running' && isRefused(life)) refresh(life, ['shrunk', 'drifted']);
    });
  });
  // Browsers are there from the beginning.
  world.news.on('running', (life) => {
    world.later(world.luck('first request') ** 2 * 2_000, life, 'a browser comes', () => {
      if (life.state === 'running') request(life);
    });
  });

  /** What is switched on until its time is over, or until something else takes its place. */
  const lasting = new Map<string, symbol>();
  const during = (name: string, forMs: number, set: (isOn: boolean) => void): void => {
    const mine = Symbol(name);
    lasting.set(name, mine);
    set(true);
    world.later(forMs, DIRECTOR, `end of ${name}`, () => {
      if (lasting.get(name) === mine) set(false);
    });
  };

  const startLater = (replica: Replica, downMs: number): void => {
    const { life } = replica;
    world.later(downMs, DIRECTOR, 'start', () => {
      // What heals everything has started it.
      if (isHealed) return;
      // A stopped process ends at the latest now.
      if (replica.life === life) lifecycle.kill(replica);
      if (!replica.life) lifecycle.start(replica);
    });
  };
  const perform: {
    readonly [T in Action['type']]: (action: Extract<Action, { type: T }>, replica: Replica) => unknown;
  } = {
    refresh: ({ times, accept }, { life }) => {
      if (life?.state === 'running' || life?.state === 'stopping')
        // Every other one accepts nothing.
        for (let left = times; left > 0; left -= 1) refresh(life, left % 2 > 0 ? accept : []);
    },
    request: ({ times }, { life }) => {
      if (life?.state === 'running') for (let time = 0; time < times; time += 1) request(life);
    },
    kill: ({ downMs }, replica) => {
      startLater(replica, downMs);
      lifecycle.kill(replica);
    },
    stop: ({ downMs }, replica) => {
      startLater(replica, downMs);
      void lifecycle.stop(replica);
    },
    'wall clock': ({ byMs }, replica) => {
      replica.wallOffsetMs = byMs === 0 ? 0 : replica.wallOffsetMs + byMs;
      judge.onWallClock();
    },
    'timers late': ({ ms, forMs }, replica) =>
      during(`timers of ${replica.name}`, forMs, (isOn) => (replica.tardyMs = isOn ? ms : 0)),
    disk: ({ fails, slowMs, forMs }, { name, disk }) =>
      during(`disk of ${name}`, forMs, (isOn) => Object.assign(disk, isOn ? { fails, slowMs } : WELL)),
    provider: ({ answer, retryAfter, forMs }) =>
      during('provider', forMs, (isOn) => provider.answer(isOn ? answer : 'healthy', retryAfter)),
    'provider slow': ({ ms, isDeaf, forMs }) =>
      during('slowness', forMs, (isOn) => provider.slow(isOn ? ms : 0, isOn && isDeaf)),
    list: ({ change }) => {
      provider.go('steady');
      LIST_CHANGES[change](provider);
    },
    'token endpoint': ({ grant, forMs }) =>
      during('token endpoint', forMs, (isOn) => provider.grant(isOn ? grant : 'healthy')),
    'tokens revoked': () => provider.revoke(),
    redis: ({ fault, forMs }) => during(`redis ${fault}`, forMs, (isOn) => redis.fault(fault, isOn)),
    'redis slow': ({ ms, forMs }) => during('slow redis', forMs, (isOn) => redis.slow(isOn ? ms : 0)),
    'redis once': ({ what }) => REDIS_ONCE[what](redis, setup.timeoutMs),
  };
  let isHealed = false;
  const performOn = (index: number, action: Action): void => {
    const replica = replicas[index % replicas.length];
    if (!isHealed && replica) perform[action.type](action as never, replica);
  };

  const waiting = new Set<Event>();
  const performLater = (event: Event): void =>
    void world.later(event.plusMs, DIRECTOR, event.action.type, () => performOn(event.who, event.action));
  world.news.on('step', (what) => {
    for (const event of waiting)
      if (event.when !== undefined && what.startsWith(event.when)) {
        waiting.delete(event);
        performLater(event);
      }
  });
  for (const event of events)
    world.later(
      event.atMs,
      DIRECTOR,
      'planned',
      () => void (event.when === undefined ? performLater(event) : waiting.add(event)),
    );

  const runUntil = async (untilMs: number): Promise<void> => {
    while (!court.violation()) {
      const owner = await world.step(untilMs);
      if (!owner) break;
      judge.afterStep(owner);
    }
  };
  const tick = (): void => {
    for (const life of lives()) if (life.state === 'running') request(life);
    world.later(nowAndThenMs, DIRECTOR, 'tick', tick);
  };

  /** Whether Redis stays so that replicas cannot share lists for good. */
  const isAlone = !['nothing', 'a lease of nobody', 'loses messages'].includes(setup.remains);

  const heal = (): void => {
    isHealed = true;
    waiting.clear();
    lasting.clear();
    // Without a list nobody can accept that a field is missing.
    if (provider.versions.current().shape.drift === 'name renamed') provider.versions.restore();
    provider.answer('healthy', undefined);
    provider.grant('healthy');
    provider.slow(0, false);
    provider.go('steady');
    const { remains } = setup;
    redis.heal(remains === 'nothing' || remains === 'a lease of nobody' ? undefined : remains);
    if (remains === 'a lease of nobody') redis.holdLease(setup.timeoutMs + 500);
    for (const replica of replicas) {
      replica.tardyMs = 0;
      Object.assign(replica.disk, WELL);
      if (replica.life && replica.life.state !== 'running' && replica.life.state !== 'restoring')
        lifecycle.kill(replica);
      if (!replica.life) lifecycle.start(replica);
    }
  };

  /** Nothing may happen to the code but in a step. */
  const act = (what: string, action: () => void): void =>
    void world.later(world.luck(what) * 100, DIRECTOR, what, action);

  const finish = async (): Promise<void> => {
    const after = (ms: number): Promise<void> => runUntil(world.nowMs() + ms);
    act('heal', heal);
    await after(100 + world.luck('an operator comes') * 10 * SECOND);
    for (const life of lives())
      act('somebody asks', () => {
        if (life.state !== 'running') return;
        request(life);
        if (setup.remains !== 'nothing') refresh(life, []);
      });
    await after(judge.retryMs() + court.recoveryMs);
    for (const life of lives())
      act('an operator accepts', () => {
        const { failure, held } = life.core.list.status();
        // What it has not seen yet, its guard may refuse when the operator has gone.
        const isBehind = held?.json.toString() !== provider.versions.current().published;
        if (failure || isBehind) refresh(life, ['shrunk', 'drifted']);
      });
    // A list of the future may be believed when its time has come.
    const forgedMs = redis.forgedAtMs() >= 0 ? 3_600 * SECOND + court.longestTtlMs : 0;
    await after(forgedMs + court.longestTtlMs * 1.02 + court.recoveryMs);
    if (court.violation()) return;
    judge.judgeEnd(lives(), isAlone);
    const last = lives();
    for (const replica of replicas) act('stop', () => void lifecycle.stop(replica));
    await after(30 * SECOND);
    for (const life of last)
      court.expect(life.state === 'stopped', 'a stop ends', () => `${life.name} is ${life.state}`);
  };

  for (const replica of replicas)
    world.later(
      world.luck('start') * 400,
      DIRECTOR,
      'start',
      () => void (replica.life ?? lifecycle.start(replica)),
    );
  tick();
  await runUntil(setup.hours * 3_600 * SECOND);
  if (!court.violation()) await finish();
  endWatch();
  return { violation: court.violation(), steps, calls, simulatedMs: world.nowMs() };
};
