/* oxlint-disable no-await-in-loop -- one step after the other is what a simulation is */
import type { Action, Event, Plan } from './events.ts';
import { createJudge, watchProcess, type Violation } from './judge.ts';
import { createProviderWorld } from './provider.ts';
import { createRedisWorld } from './redis.ts';
import { createReplicas, newReplica, outcomeOf, toConfig, WALL_START_MS, type Life } from './replica.ts';
import { createWorld, type Owner } from './world.ts';

// One run of a plan: a fleet is started, what is planned happens to it, everything is healed, and it is stopped.

export interface Run {
  readonly violation: Violation | undefined;
  /** Equal for equal runs. */
  readonly hash: number;
  readonly steps: number;
  readonly calls: number;
  readonly simulatedMs: number;
}

export interface RunOptions {
  /** Is told what happens. */
  readonly onStep?: ((atMs: number, what: string, owner: Owner) => void) | undefined;
  readonly onAction?: ((action: Action) => void) | undefined;
  /** Is told the state of each replica to which something happened. */
  readonly onState?: ((state: string) => void) | undefined;
}

const SECOND = 1_000;
const NOW_AND_THEN_MS = { day: 300 * SECOND, rush: 5 * SECOND };

export const run = async (plan: Plan, { onStep, onAction, onState }: RunOptions = {}): Promise<Run> => {
  const { setup, events } = plan;
  const world = createWorld(setup.seed);
  const director: Owner = { name: 'director', isAlive: true };
  const judge = createJudge(world, plan);
  const provider = createProviderWorld(world, judge.providerWitness, setup);
  const redis = createRedisWorld(world, judge.redisWitness);
  const replicas = Array.from({ length: setup.replicas }, (_, index) => newReplica(`replica ${index}`));
  const lifecycle = createReplicas(
    world,
    toConfig(setup),
    { provider, redis },
    {
      ...judge.replicaWitness,
      // Browsers are there from the beginning.
      onRunning: (life) =>
        void world.later(world.luck('first request') ** 2 * 2_000, life, 'a browser comes', () => {
          if (life.state === 'running') request(life);
        }),
    },
  );
  judge.surround({ provider, redis, replicas });
  const endWatch = watchProcess(judge.broken);
  if (onStep) world.onStep((what, owner) => onStep(world.nowMs(), what, owner));

  const lives = (): Life[] => replicas.flatMap(({ life }) => (life ? [life] : []));

  const refresh = (life: Life, accept: readonly ('shrunk' | 'drifted')[]): void => {
    const answered = judge.ask(life, 'refreshes');
    life.core.list.refresh(accept).then(answered, (error: unknown) => answered(outcomeOf(error)));
  };
  const request = (life: Life): void => {
    if (life.core.list.served()) return;
    const answered = judge.ask(life, 'arrivals');
    life.core.list.arrival().then(
      () => answered(undefined),
      (error: unknown) => answered(outcomeOf(error)),
    );
  };

  /** What is switched on until its time is over, or until something else takes its place. */
  const lasting = new Map<string, symbol>();
  const during = (name: string, forMs: number, begin: () => void, end: () => void): void => {
    const mine = Symbol(name);
    lasting.set(name, mine);
    begin();
    world.later(forMs, director, `end of ${name}`, () => {
      if (lasting.get(name) === mine) end();
    });
  };

  let isHealed = false;
  const perform = (index: number, action: Action): void => {
    if (isHealed) return;
    const replica = replicas[index % replicas.length];
    if (!replica) return;
    const { life, name } = replica;
    const providerDuring = (what: string, forMs: number, begin: () => void, end: () => void): void =>
      during(
        what,
        forMs,
        () => (begin(), judge.onProviderChange()),
        () => (end(), judge.onProviderChange()),
      );
    switch (action.type) {
      case 'nothing':
        break;
      case 'refresh':
        if (life?.state === 'running' || life?.state === 'stopping')
          for (let time = 0; time < action.times; time += 1) refresh(life, action.accept);
        break;
      case 'request':
        if (life?.state === 'running') for (let time = 0; time < action.times; time += 1) request(life);
        break;
      case 'probe':
        if (life) judge.probe(life);
        break;
      case 'kill':
        lifecycle.kill(replica);
        world.later(action.downMs, director, 'start', () => void (replica.life ?? lifecycle.start(replica)));
        break;
      case 'stop':
        void lifecycle.stop(replica);
        world.later(action.downMs, director, 'start', () => {
          if (replica.life && replica.life === life) {
            lifecycle.kill(replica);
            lifecycle.start(replica);
          }
        });
        break;
      case 'wall clock':
        replica.wallOffsetMs += action.byMs;
        judge.onWallClock();
        break;
      case 'timers late':
        during(
          `timers of ${name}`,
          action.forMs,
          () => (replica.tardyMs = action.ms),
          () => (replica.tardyMs = 0),
        );
        break;
      case 'disk':
        during(
          `disk of ${name}`,
          action.forMs,
          () => Object.assign(replica.disk, { fails: action.fails, slowMs: action.slowMs }),
          () => Object.assign(replica.disk, { fails: false, slowMs: 5 }),
        );
        break;
      case 'provider':
        providerDuring(
          'provider',
          action.forMs,
          () => provider.answer(action.answer, action.retryAfter),
          () => provider.answer('healthy', undefined),
        );
        break;
      case 'provider slow':
        providerDuring(
          'slowness',
          action.forMs,
          () => (provider.slow(action.ms), provider.deaf(action.isDeaf)),
          () => (provider.slow(0), provider.deaf(false)),
        );
        break;
      case 'list': {
        const { versions } = provider;
        if (action.change === 'one bank renamed') versions.rename();
        else if (action.change === 'the usual list') versions.restore();
        else if (action.change === 'half of it gone') versions.change({ size: 5 });
        else if (action.change === 'two gone') versions.change({ size: 8 });
        else versions.change({ drift: action.change });
        break;
      }
      case 'token endpoint':
        providerDuring(
          'token endpoint',
          action.forMs,
          () => provider.grant(action.grant),
          () => provider.grant('healthy'),
        );
        break;
      case 'tokens revoked':
        provider.revoke();
        break;
      case 'redis':
        during(
          `redis ${action.fault}`,
          action.forMs,
          () => redis.fault(action.fault, true),
          () => redis.fault(action.fault, false),
        );
        break;
      case 'redis slow':
        during(
          'slow redis',
          action.forMs,
          () => redis.slow(action.ms),
          () => redis.slow(0),
        );
        break;
      case 'redis once':
        if (action.what === 'cut') redis.cutAll();
        else if (action.what === 'emptied') redis.empty();
        else if (action.what === 'a lease of nobody') redis.holdLease(setup.timeoutMs + 500);
        else redis.tamper(action.what === 'a list of the future', WALL_START_MS + world.nowMs());
        break;
    }
    onAction?.(action);
  };

  const waiting = new Set<Event>();
  const performLater = (event: Event): void =>
    void world.later(event.plusMs, director, event.action.type, () => perform(event.who, event.action));
  world.onStep((what) => {
    for (const event of waiting)
      if (event.when !== undefined && what.startsWith(event.when)) {
        waiting.delete(event);
        performLater(event);
      }
  });
  for (const event of events)
    world.later(
      event.atMs,
      director,
      'planned',
      () => void (event.when === undefined ? performLater(event) : waiting.add(event)),
    );

  const runUntil = async (untilMs: number): Promise<void> => {
    while (!judge.violation()) {
      const owner = await world.step(untilMs);
      if (!owner) break;
      judge.afterStep(owner);
      if (onState) for (const life of lives()) if (life === owner) onState(judge.stateOf(life));
    }
  };
  const tick = (): void => {
    for (const life of lives()) {
      judge.afterStep(life);
      if (life.state === 'running') request(life);
      const { failure, failing } = life.core.list.status();
      const isRefused = failure?.kind === 'shrunk' || failure?.kind === 'drifted';
      // An operator looks now and then.
      if (life.state === 'running' && isRefused && (failing?.attempts ?? 0) > 8)
        refresh(life, ['shrunk', 'drifted']);
    }
    world.later(setup.hours < 1 ? NOW_AND_THEN_MS.rush : NOW_AND_THEN_MS.day, director, 'tick', tick);
  };

  /** Whether Redis stays so that replicas cannot share lists for good. */
  const isAlone = !['nothing', 'a lease of nobody', 'loses messages'].includes(setup.remains);

  const heal = (): void => {
    isHealed = true;
    waiting.clear();
    lasting.clear();
    // Without a list nobody can accept that a field is missing.
    if (provider.versions.current().shape.drift === 'no name') provider.versions.restore();
    provider.answer('healthy', undefined);
    provider.grant('healthy');
    provider.slow(0);
    provider.deaf(false);
    judge.onProviderChange();
    const { remains } = setup;
    redis.heal(remains === 'nothing' || remains === 'a lease of nobody' ? undefined : remains);
    if (remains === 'a lease of nobody') redis.holdLease(setup.timeoutMs + 500);
    for (const replica of replicas) {
      replica.tardyMs = 0;
      Object.assign(replica.disk, { fails: false, slowMs: 5 });
      if (replica.life && replica.life.state !== 'running' && replica.life.state !== 'restoring')
        lifecycle.kill(replica);
      if (!replica.life) lifecycle.start(replica);
    }
  };

  /** All replicas have the provider's list, and everything that keeps it has it too. */
  const judgeAgreement = (): void => {
    const { published } = provider.versions.current();
    const agree = (isKept: boolean, details: string): void =>
      judge.expect(isKept, 'a fleet agrees', () => details);
    for (const life of lives()) {
      const { held, ageMs = Infinity } = life.core.list.status();
      // Its renewal may be under way.
      agree(ageMs <= setup.ttlMs + setup.timeoutMs + SECOND, `the list of ${life.name} is ${ageMs} ms old`);
      agree(held?.json.toString() === published, `${life.name} has another list`);
      const { refreshes, arrivals, stores } = judge.fileOf(life);
      judge.expect(refreshes.size + arrivals.size === 0, 'a refresh is answered', () => 'one is not');
      for (const [store, last] of stores)
        agree(last !== 'store-failed' || isAlone, `${life.name} says that ${store} fails`);
      const { content } = life.replica.disk;
      if (setup.hasSnapshot)
        agree(content?.includes(published) === true, `the snapshot of ${life.name} differs`);
    }
    if (setup.hasRedis && !isAlone)
      agree(redis.list()?.bytes.includes(published) === true, 'Redis has another list');
  };

  /** Nothing may happen to the code but in a step. */
  const act = (what: string, action: () => void): void =>
    void world.later(world.luck(what) * 100, director, what, action);

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
    await after(judge.retryMs() + judge.recoveryMs);
    for (const life of lives())
      act('an operator accepts', () => {
        if (life.core.list.status().failure) refresh(life, ['shrunk', 'drifted']);
      });
    // A list of the future may be believed when its time has come.
    const forgedMs = redis.wasForged() ? 3_600 * SECOND + setup.ttlMs : 0;
    await after(forgedMs + setup.ttlMs * 1.02 + judge.recoveryMs);
    if (judge.violation()) return;
    judgeAgreement();
    const last = lives();
    for (const replica of replicas) act('stop', () => void lifecycle.stop(replica));
    await after(30 * SECOND);
    for (const life of last)
      judge.expect(life.state === 'stopped', 'a stop ends', () => `${life.name} is ${life.state}`);
  };

  for (const replica of replicas)
    world.later(
      world.luck('start') * 400,
      director,
      'start',
      () => void (replica.life ?? lifecycle.start(replica)),
    );
  tick();
  await runUntil(setup.hours * 3_600 * SECOND);
  if (!judge.violation()) await finish();
  endWatch();
  return {
    violation: judge.violation(),
    hash: world.hash(),
    steps: world.steps(),
    calls: judge.calls(),
    simulatedMs: world.nowMs(),
  };
};
