import { getEventListeners } from 'node:events';
import type { HeldList } from '../src/banks/cached-list.ts';
import { LoadError, type LoadErrorKind } from '../src/banks/load-error.ts';
import type { ServiceEvent } from '../src/telemetry/events.ts';
import type { Plan } from './events.ts';
import { PROMISES, type Promised } from './promises.ts';
import type { Call, Delivery, IssuedToken, ProviderWitness, ProviderWorld, TokenCall } from './provider.ts';
import type { RedisWitness, RedisWorld } from './redis.ts';
import { WALL_START_MS, type Life, type Outcome, type Replica, type ReplicaWitness } from './replica.ts';
import type { Owner, World } from './world.ts';

// Judges after every step whether what the replicas did is what was promised. It knows the truth from the provider's side, and
// looks at the core only through its interface.

/** A promise was broken. */
export class Violation extends Error {
  override readonly name = 'Violation';
  constructor(promised: Promised, details: string) {
    super(`${PROMISES[promised]}\n    (${details})`);
  }
}

/** A refresh or a first request that waits for its answer. */
interface Waiting {
  readonly sinceMs: number;
  readonly lateMs: number;
  /** Others that may go first: each has a load of its own. */
  others: number;
}

/** What is known of one life of a replica. */
interface File {
  held: HeldList | undefined;
  /** What the provider sent for it; undefined where a store holds what it never sent. */
  origin: Delivery | undefined;
  isOwn: boolean;
  /** Its times are those with which a replica saved it. */
  isGenuine: boolean;
  failing: boolean;
  attempts: number;
  failedAtMs: number;
  /** No load before, unless an operator asks. */
  retryAtMs: number;
  retryAfterMs: number | undefined;
  nextLoadBoundMs: number | undefined;
  call: Call | undefined;
  /** It is made in this replica's turn. */
  callHasLease: boolean;
  wasUnauthorized: boolean;
  delivery: Delivery | undefined;
  confirmations: number;
  wholeAtMs: number;
  excuses: Map<LoadErrorKind, number>;
  progressAtMs: number;
  tokenCall: TokenCall | undefined;
  tokenRetryAtMs: number;
  hadUnauthorized: boolean;
  token: string;
  lastTokenText: string;
  stores: Map<string, ServiceEvent['type']>;
  refreshes: Set<Waiting>;
  refreshedAtMs: number;
  /** What its own last load brought. */
  renewal: Delivery | undefined;
  waitingSinceMs: number | undefined;
  unwellSinceMs: number | undefined;
  arrivals: Set<Waiting>;
  renewed: number;
  /** Things done in the present second. */
  second: number;
  done: Record<'commands' | 'timers' | 'calls' | 'refreshes', number>;
}

const SECOND = 1_000;
/** Both encodings of a list, made one after the other. */
const ENCODING_MS = 420;
/** Of src/sharing/redis-connection.ts: the longest time for one operation. */
const STORE_MS = 500;
const TOLERANCE_MS = 1_002;
/** How far ahead the clock of another replica may be. */
const MOST_LEAD_MS = 61_000;
const MOST_IN_A_SECOND = { commands: 80, timers: 120 };

export const createJudge = (world: World, { setup }: Plan) => {
  const { ttlMs, timeoutMs, maxStaleMs } = setup;
  const longestRetryMs = Math.min(ttlMs, 60 * SECOND);
  const files = new Map<Owner, File>();
  const origins = new Map<string, Delivery>();
  const texts = new WeakMap<HeldList, string>();
  let provider: ProviderWorld;
  let redis: RedisWorld;
  let replicas: readonly Replica[] = [];
  let violation: Violation | undefined;
  let healthySinceMs = 0;
  let wallSpreadMs = 0;
  /** What Redis holds, if it is what a replica wrote. */
  let sharedList:
    { readonly bytes: Buffer; readonly deliveredAtMs: number; readonly writtenAtMs: number } | undefined;
  let callsSoFar = 0;
  let stepsAtOnce = { atMs: 0, count: 0 };

  const now = (): number => world.nowMs();
  const broken = (promised: Promised, details: string): void => {
    violation ??= new Violation(promised, details);
  };
  const expect = (isKept: boolean, promised: Promised, details: () => string): void => {
    if (!isKept) broken(promised, details());
  };

  const fileOf = (owner: Owner): File => {
    let file = files.get(owner);
    if (!file) files.set(owner, (file = newFile(now())));
    return file;
  };

  const lifeOf = (owner: Owner): Life => {
    const life = replicas.find((replica) => replica.life === owner)?.life;
    if (!life) throw new Error(`${owner.name} has ended`);
    return life;
  };

  const textOf = (list: HeldList): string => {
    let text = texts.get(list);
    if (text === undefined) texts.set(list, (text = list.json.toString()));
    return text;
  };
  const originKey = (list: Pick<HeldList, 'receivedAtMs'>, text: string): string =>
    `${list.receivedAtMs} ${text}`;

  const count = (life: Life, what: keyof File['done']): void => {
    const file = fileOf(life);
    const second = Math.floor(now() / SECOND);
    if (file.second !== second) {
      file.second = second;
      file.done = { commands: 0, timers: 0, calls: 0, refreshes: 0 };
    }
    file.done[what] += 1;
    const { commands, timers, calls, refreshes } = file.done;
    const isCalm =
      commands <= MOST_IN_A_SECOND.commands && timers <= MOST_IN_A_SECOND.timers + 10 * refreshes;
    expect(isCalm && calls <= 4 * (1 + refreshes), 'nobody spins', () => JSON.stringify(file.done));
    expect(life.state !== 'stopped', 'quiet after a stop', () => `one of its ${what}`);
  };

  // What the provider sees.

  const onCall = (call: Call): void => {
    const life = lifeOf(call.owner);
    const file = fileOf(life);
    callsSoFar += 1;
    count(life, 'calls');
    expect(life.state !== 'stopping', 'no load after a stop', () => 'the provider was asked');
    const before = file.call;
    const isRetry = before !== undefined && before.signal === call.signal;
    expect(
      before === undefined || before.endedAtMs !== undefined || before.signal.aborted,
      'one load at a time',
      () => 'a call while another is under way',
    );
    file.progressAtMs = now();
    if (isRetry)
      expect(
        file.wasUnauthorized && before.token !== call.token,
        'one retry with a new token',
        () => 'a second call',
      );
    else judgeBeginning(life, file, call);
    judgeToken(call);
    file.call = call;
    file.waitingSinceMs = undefined;
    file.wasUnauthorized = false;
  };

  const judgeBeginning = (life: Life, file: File, call: Call): void => {
    file.delivery = undefined;
    file.retryAfterMs = undefined;
    const isForced = file.refreshes.size > 0;
    file.callHasLease = !isForced && redis.lease()?.owner === life;
    const { held } = file;
    const ageMs = life.core.list.status().ageMs ?? Infinity;
    const mayAsk = held !== undefined && file.isOwn && !file.failing && !isForced;
    if (call.isConditional) {
      expect(
        mayAsk || isForced,
        'the whole list is asked for',
        () => 'after a failure, or of a list from a store',
      );
      const isDue = file.confirmations >= 23 || now() - file.wholeAtMs >= 24 * 3_600_000;
      expect(!isDue, 'the whole list is asked for', () => `${file.confirmations} confirmations`);
    }
    // What had changed while it got its token came too late for its decision.
    if (isForced || (file.tokenCall?.endedAtMs ?? -1) > now() - 200) return;
    const isDue = file.failing || held === undefined || ageMs >= ttlMs * 0.99 - 2;
    expect(isDue, 'one call per TTL', () => `its list is ${ageMs} ms old`);
    if (file.failing) {
      const earliestMs = Math.max(file.failedAtMs + Math.min(SECOND, ttlMs) - 2, file.retryAtMs - 2);
      expect(now() >= earliestMs, 'retries back off', () => `${earliestMs - now()} ms too early`);
    }
    if (setup.hasRedis) judgeTurn(life, file);
  };

  /** Whether the replicas call one after the other, and only if nobody has called. */
  const judgeTurn = (life: Life, file: File): void => {
    const calmMs = Math.min(redis.calmForMs(), now() - life.stateSinceMs) - 4 * timeoutMs - life.lateMs;
    if (calmMs < 0 || wallSpreadMs > 0 || file.failing || life.core.list.served() === undefined) return;
    const waitedMs = file.waitingSinceMs === undefined ? 0 : now() - file.waitingSinceMs;
    for (const { life: other } of replicas) {
      if (!other || other === life || waitedMs >= 2 * timeoutMs - 10) continue;
      const { call, callHasLease } = fileOf(other);
      const isLoading = call && call.endedAtMs === undefined && !call.signal.aborted && callHasLease;
      expect(
        !isLoading || call.askedAtMs < now() - timeoutMs,
        'one call per TTL',
        () => `${other.name} is loading`,
      );
    }
    // Not if it is gone, or somebody else has written there since.
    if (!sharedList || !redis.list()?.bytes.equals(sharedList.bytes)) return;
    const isFresh =
      now() - sharedList.deliveredAtMs < ttlMs * 0.9 && sharedList.writtenAtMs < now() - 4 * SECOND;
    expect(!isFresh, 'one call per TTL', () => 'the shared list is fresh');
  };

  const judgeToken = (call: Call): void => {
    if (!setup.usesTokens) return;
    const token = provider.tokens.get(call.token);
    const file = fileOf(call.owner);
    if (file.token !== call.token) file.hadUnauthorized = false;
    file.token = call.token;
    expect(
      token?.owner === call.owner,
      'tokens in their lifetime',
      () => 'a token that was never granted to it',
    );
    expect(
      !token || now() < token.issuedAtMs + token.lifetimeMs,
      'tokens in their lifetime',
      () => 'it has expired',
    );
  };

  const onTokenCall = (call: TokenCall): void => {
    const life = lifeOf(call.owner);
    const file = fileOf(life);
    count(life, 'calls');
    expect(life.state !== 'stopping', 'no load after a stop', () => 'a token was asked for');
    expect(
      !file.tokenCall || file.tokenCall.endedAtMs !== undefined || file.tokenCall.signal.aborted,
      'one token request at a time',
      () => 'two',
    );
    file.tokenCall = call;
    file.progressAtMs = now();
    const held: IssuedToken | undefined = provider.tokens.get(file.token);
    if (!held || file.hadUnauthorized || now() >= held.issuedAtMs + held.lifetimeMs) return;
    const newest = [...provider.tokens.values()].findLast(({ owner }) => owner === life);
    if (newest !== held) return;
    expect(
      now() >= held.issuedAtMs + held.lifetimeMs * 0.79,
      'tokens in their lifetime',
      () => 'renewed too early',
    );
    expect(
      now() >= file.tokenRetryAtMs - 2,
      'retries back off',
      () => 'the token endpoint asked to be left alone',
    );
  };

  const providerWitness: ProviderWitness = {
    onCall,
    onTokenCall,
    onDelivery: (delivery, { owner }) => void (fileOf(owner).delivery = delivery),
    onExcuse: (owner, kinds) => {
      for (const kind of kinds) fileOf(owner).excuses.set(kind, now());
    },
    onUnauthorized: ({ owner }) => {
      const file = fileOf(owner);
      file.wasUnauthorized = true;
      file.hadUnauthorized = true;
    },
    onRetryAfter: (owner, ms, from) => {
      const file = fileOf(owner);
      if (from === 'list') file.retryAfterMs = ms;
      else file.tokenRetryAtMs = now() + Math.min(ms, SECOND);
    },
  };

  // What the replicas say.

  const onEvent = (life: Life, event: ServiceEvent): void => {
    const file = fileOf(life);
    expect(life.state !== 'stopped', 'quiet after a stop', () => `told ${event.type}`);
    if (event.type === 'list-renewed') onRenewed(life, file, event);
    if (event.type === 'list-restored') onRestored(file, event);
    if (event.type === 'list-load-failed') onFailed(file, event.error);
    if (event.type === 'store-failed' || event.type === 'store-recovered')
      file.stores.set(event.store, event.type);
  };

  const onRenewed = (
    life: Life,
    file: File,
    { list, outcome }: Extract<ServiceEvent, { type: 'list-renewed' }>,
  ): void => {
    const { delivery } = file;
    const text = textOf(list);
    expect(delivery?.version.published === text, 'only what the provider sent', () => 'a renewed list');
    if (!delivery) return;
    if (!file.isOwn && file.origin)
      expect(
        file.origin.askedAtMs <= delivery.askedAtMs,
        'no answer to an earlier question',
        () => 'replaces what another replica loaded',
      );
    judgeGuard(file, list);
    origins.set(originKey(list, text), delivery);
    file.renewal = delivery;
    const isWhole = outcome !== 'not_modified';
    if (isWhole) file.wholeAtMs = delivery.askedAtMs;
    file.confirmations = isWhole ? 0 : file.confirmations + 1;
    file.failing = false;
    file.attempts = 0;
    file.renewed += 1;
    file.isGenuine = true;
    hold(file, list, delivery, true);
    file.progressAtMs = now();
    expect(life.core.list.status().held === list, 'what is told is what is served', () => 'list-renewed');
  };

  const onRestored = (
    file: File,
    { list, state }: Extract<ServiceEvent, { type: 'list-restored' }>,
  ): void => {
    const text = textOf(list);
    expect(
      provider.versions.byPublished(text) !== undefined,
      'only what the provider sent',
      () => 'a restored list',
    );
    const genuine = origins.get(originKey(list, text));
    const origin = genuine ?? latest(text);
    file.isGenuine = genuine !== undefined;
    judgeGuard(file, list);
    if (file.held && file.origin && origin && (list.acceptedAtMs ?? 0) <= (file.held.acceptedAtMs ?? 0))
      expect(
        wallSpreadMs > TOLERANCE_MS || origin.deliveredAtMs >= file.origin.deliveredAtMs - 2 * TOLERANCE_MS,
        'never back to an older list',
        () => 'restored',
      );
    if (state === 'fresh') {
      file.failing = false;
      file.attempts = 0;
    }
    hold(file, list, origin, false);
    file.progressAtMs = now();
  };

  const onFailed = (file: File, error: LoadError): void => {
    expect(
      error.kind !== 'internal',
      'no defect',
      () => `${String(error.cause)} ${error.cause instanceof Error ? error.cause.stack : ''}`,
    );
    const excusedAtMs = file.excuses.get(error.kind) ?? -Infinity;
    const isExcused =
      now() - excusedAtMs < 4 * timeoutMs + 30 * SECOND ||
      (error.kind === 'timeout' && file.tokenCall?.endedAtMs === undefined);
    expect(isExcused, 'failures are those of the provider', () => `${error.kind}: ${error.message}`);
    if (file.retryAfterMs !== undefined && (error.kind === 'rate_limited' || error.kind === 'unavailable'))
      expect(
        error.retryAfterMs === file.retryAfterMs,
        'retries back off',
        () => 'Retry-After was not noticed',
      );
    file.retryAfterMs = undefined;
    const askedMs = Math.min(error.retryAfterMs ?? 0, Math.max(ttlMs, 3_600_000));
    file.failing = true;
    file.attempts += 1;
    file.failedAtMs = now();
    file.retryAtMs = now() + askedMs;
    file.nextLoadBoundMs = Math.max(
      askedMs,
      Math.min(longestRetryMs, 1.5 * SECOND * 2 ** (file.attempts - 1)),
    );
    file.progressAtMs = now();
  };

  /** A list that lost more than a fifth, or in which fields changed, needs an operator, unless it was served before. */
  const judgeGuard = (file: File, list: HeldList): void => {
    const { held } = file;
    if (!held || (list.acceptedAtMs ?? 0) > (held.acceptedAtMs ?? 0)) return;
    const [before, after] = [held, list].map((one) => provider.versions.byPublished(textOf(one))?.shape);
    if (!before || !after) return;
    const isRefused =
      after.size < before.size * 0.8 || (after.drift !== before.drift && before.drift !== 'no name');
    expect(
      !isRefused,
      'the guard and the operator',
      () => `${JSON.stringify(before)} to ${JSON.stringify(after)}`,
    );
  };

  const hold = (file: File, list: HeldList, origin: Delivery | undefined, isOwn: boolean): void => {
    const { held } = file;
    if (held) {
      expect(
        (list.acceptedAtMs ?? 0) >= (held.acceptedAtMs ?? 0),
        'an accepted list stays',
        () => 'the decision is lost',
      );
      const isOther = textOf(held) !== textOf(list);
      expect(
        !isOther || list.changedAtMs >= held.changedAtMs,
        'Last-Modified never goes back',
        () => `by ${held.changedAtMs - list.changedAtMs} ms`,
      );
    }
    file.waitingSinceMs = undefined;
    file.held = list;
    file.origin = origin;
    file.isOwn = isOwn;
  };

  const latest = (text: string): Delivery | undefined => {
    let found: Delivery | undefined;
    for (const delivery of origins.values())
      if (delivery.version.published === text && (!found || delivery.deliveredAtMs > found.deliveredAtMs))
        found = delivery;
    return found;
  };

  // What is seen of a replica after every step.

  const inspect = (life: Life): void => {
    const file = fileOf(life);
    const { list } = life.core;
    const status = list.status();
    expect(
      status.held === file.held,
      'what is told is what is served',
      () => 'a list was replaced without an event',
    );
    if (life.state === 'running') {
      const isShown = status.failure !== undefined;
      expect(
        isShown === file.failing && isShown === (status.failing !== undefined),
        'failures are shown',
        () => `${isShown} instead of ${file.failing}`,
      );
      expect(
        (status.failing?.attempts ?? 0) === file.attempts,
        'failures are shown',
        () => `${status.failing?.attempts} instead of ${file.attempts}`,
      );
      if (file.nextLoadBoundMs !== undefined && file.failedAtMs === now())
        expect(
          status.nextLoadInMs <= file.nextLoadBoundMs + 2,
          'retries back off',
          () => `${status.nextLoadInMs} ms after ${file.attempts} failures`,
        );
    }
    const served = list.served();
    const { ageMs } = status;
    expect(
      (ageMs === undefined) === (status.held === undefined),
      'ages are true',
      () => 'no list, or no age',
    );
    if (ageMs === undefined) return;
    expect(
      (served !== undefined) === ageMs <= ttlMs + maxStaleMs,
      'nothing too old is served',
      () => `${ageMs} ms`,
    );
    const state = ageMs <= ttlMs ? 'fresh' : ageMs <= ttlMs + maxStaleMs ? 'stale' : 'expired';
    expect(status.state === state, 'ages are true', () => `${status.state} at ${ageMs} ms`);
    if (!file.origin) return;
    const sinceMs = now() - file.origin.deliveredAtMs;
    // A list with times that cannot be true, by any clock of the fleet, is used as a stale one.
    const isOfTheFuture =
      status.held !== undefined &&
      status.held.receivedAtMs > WALL_START_MS + now() + wallSpreadMs + MOST_LEAD_MS;
    if (!file.isGenuine && !isOfTheFuture) return;
    const trueMs = file.isGenuine ? sinceMs : Math.min(sinceMs, ttlMs + 1);
    const tolerance = file.isOwn ? 2 : TOLERANCE_MS + wallSpreadMs;
    expect(ageMs >= trueMs - tolerance, 'ages are true', () => `${ageMs} ms instead of ${trueMs} ms`);
    if (file.isOwn)
      expect(ageMs <= trueMs + tolerance, 'ages are true', () => `${ageMs} ms instead of ${trueMs} ms`);
    expect(
      Math.min(trueMs, ageMs) <= ttlMs + maxStaleMs + tolerance || !served,
      'nothing too old is served',
      () => `${trueMs} ms`,
    );
  };

  const judgeTimes = (life: Life): void => {
    const file = fileOf(life);
    for (const [kind, waits] of [
      ['refresh', file.refreshes],
      ['request', file.arrivals],
    ] as const)
      for (const { sinceMs, lateMs, others } of waits) {
        const isStopping = life.state !== 'running';
        const fullMs =
          kind === 'request'
            ? timeoutMs + ENCODING_MS + 10
            : (2 + others) * (timeoutMs + ENCODING_MS + 2 * STORE_MS) + SECOND;
        const boundMs = isStopping
          ? Math.max(life.stateSinceMs - sinceMs, 0) + ENCODING_MS + 2 * STORE_MS
          : fullMs;
        const waitedMs = now() - sinceMs - (life.lateMs - lateMs);
        expect(
          waitedMs <= boundMs,
          kind === 'refresh' ? 'a refresh is answered' : 'a first request is answered',
          () => `not after ${waitedMs} ms${isStopping ? ', stopping' : ''}`,
        );
      }
    expect(life.timers <= 12, 'nothing is left behind', () => `${life.timers} timers`);
    expect(
      redis.connectionsOf(life) <= 2,
      'nothing is left behind',
      () => `${redis.connectionsOf(life)} connections`,
    );
    if (life.state === 'stopping') {
      const boundMs = 4 * STORE_MS + ENCODING_MS + 4 * life.replica.disk.slowMs + life.lateMs;
      expect(
        now() - life.stateSinceMs <= boundMs + 20 * SECOND,
        'a stop ends',
        () => `${now() - life.stateSinceMs} ms`,
      );
    }
    if (life.state === 'stopped') {
      expect(life.timers === 0, 'quiet after a stop', () => `${life.timers} timers are left`);
      expect(redis.connectionsOf(life) === 0, 'quiet after a stop', () => 'a connection is left');
      const isOpen = file.call && file.call.endedAtMs === undefined && !file.call.signal.aborted;
      expect(!isOpen, 'quiet after a stop', () => 'a call is left');
    }
    if (life.state !== 'running') return;
    const lease = redis.lease();
    if (lease?.owner === life && redis.calmForMs() > now() - lease.writtenAtMs && life.writes === 0) {
      const isLoading = file.call && file.call.endedAtMs === undefined && !file.call.signal.aborted;
      const sinceMs = Math.max(
        lease.writtenAtMs,
        file.progressAtMs,
        file.call?.endedAtMs ?? 0,
        file.tokenCall?.endedAtMs ?? 0,
      );
      const isAsking = file.tokenCall && file.tokenCall.endedAtMs === undefined;
      expect(
        isLoading === true || isAsking === true || now() - sinceMs < 3 * STORE_MS + ENCODING_MS + life.lateMs,
        'a lease only while loading',
        () => `for ${now() - sinceMs} ms`,
      );
    }
    if (life.core.list.state() === 'fresh' && !file.failing) {
      file.unwellSinceMs = undefined;
      return;
    }
    file.unwellSinceMs ??= now();
    const quietMs =
      now() -
      Math.max(file.progressAtMs, file.unwellSinceMs, file.retryAtMs, life.stateSinceMs) -
      life.lateMs;
    expect(
      quietMs <= longestRetryMs + 3 * timeoutMs + 3 * SECOND,
      'loads go on',
      () => `nothing for ${quietMs} ms`,
    );
    const kind = life.core.list.status().failure?.kind;
    if (
      kind === 'shrunk' ||
      kind === 'drifted' ||
      file.refreshes.size > 0 ||
      file.refreshedAtMs > now() - recoveryMs
    )
      return;
    const wellMs =
      now() - Math.max(healthySinceMs, file.unwellSinceMs, file.retryAtMs, life.stateSinceMs) - life.lateMs;
    expect(
      wellMs <= recoveryMs,
      'fresh once the provider is healthy',
      () => `${kind ?? life.core.list.state()} after ${wellMs} ms`,
    );
  };

  /** The longest back-off, a load that was under way, turn taking, its own load and time-outs of the store. */
  const recoveryMs = longestRetryMs + 2 * timeoutMs + timeoutMs + timeoutMs + 4 * STORE_MS + 2 * ENCODING_MS;

  const redisWitness: RedisWitness = {
    onCommand: (owner) => count(lifeOf(owner), 'commands'),
    onLease: (owner, isGranted, lifeMs) => {
      expect(lifeMs <= 2 * timeoutMs + SECOND, 'a lease only while loading', () => `asked for ${lifeMs} ms`);
      const file = fileOf(owner);
      if (isGranted) file.progressAtMs = now();
      else file.waitingSinceMs ??= now();
    },
    onListWritten: (bytes) => {
      const [, receivedAtMs, text = ''] =
        /"receivedAtMs":(\d+),.*?"banks":(.*)\}\n$/.exec(bytes.toString()) ?? [];
      const origin = origins.get(originKey({ receivedAtMs: Number(receivedAtMs) }, text));
      sharedList = origin && { bytes, deliveredAtMs: origin.deliveredAtMs, writtenAtMs: now() };
    },
  };

  const replicaWitness: Omit<ReplicaWitness, 'onRunning'> = {
    onEvent,
    onTimer: (life) => count(life, 'timers'),
    onDisk: (life) => expect(life.state !== 'stopped', 'quiet after a stop', () => 'the disk'),
  };

  return {
    providerWitness,
    redisWitness,
    replicaWitness,
    surround: (around: { provider: ProviderWorld; redis: RedisWorld; replicas: readonly Replica[] }) => {
      ({ provider, redis, replicas } = around);
    },
    violation: () => violation,
    broken,
    expect,
    fileOf,
    recoveryMs,
    /** Until the last `Retry-After` is over. */
    retryMs: () =>
      Math.max(0, ...[...files].map(([owner, { retryAtMs }]) => (owner.isAlive ? retryAtMs - now() : 0))),
    calls: () => callsSoFar,
    onProviderChange: () => void (healthySinceMs = provider.isHealthy() ? now() : Infinity),
    onWallClock: () => {
      const offsets = replicas.map(({ wallOffsetMs }) => wallOffsetMs);
      wallSpreadMs = Math.max(wallSpreadMs, Math.max(0, ...offsets) - Math.min(0, ...offsets));
    },
    ask: (life: Life, kind: 'refreshes' | 'arrivals'): ((outcome: Outcome) => void) => {
      const file = fileOf(life);
      const waits = file[kind];
      const waiting: Waiting = { sinceMs: now(), lateMs: life.lateMs, others: waits.size };
      for (const other of waits) other.others += 1;
      waits.add(waiting);
      if (kind === 'refreshes') count(life, 'refreshes');
      return (outcome) => {
        waits.delete(waiting);
        if (kind === 'refreshes') file.refreshedAtMs = now();
        expect(
          outcome !== 'not a load error' && outcome?.kind !== 'internal',
          'no defect',
          () => `${kind}: ${outcome instanceof LoadError ? outcome.message : outcome}`,
        );
        if (kind !== 'refreshes' || outcome !== undefined) return;
        // Where another replica's newer list has overtaken the answer, that one counts.
        const askedAtMs = Math.max(file.renewal?.askedAtMs ?? -1, file.origin?.deliveredAtMs ?? -1);
        expect(
          askedAtMs >= waiting.sinceMs - TOLERANCE_MS,
          'a refresh asks anew',
          () => 'nothing was asked since',
        );
      };
    },
    afterStep: (owner: Owner) => {
      if (stepsAtOnce.atMs === now()) stepsAtOnce.count += 1;
      else stepsAtOnce = { atMs: now(), count: 0 };
      expect(stepsAtOnce.count < 3_000, 'nobody spins', () => 'time stands still');
      for (const { life } of replicas) {
        if (!life) continue;
        if (life === owner) inspect(life);
        judgeTimes(life);
      }
    },
    /** For the account of what was reached. */
    stateOf: (life: Life): string => {
      const { failing, call, waitingSinceMs, refreshes, arrivals, isOwn } = fileOf(life);
      const isAsking = call !== undefined && call.endedAtMs === undefined && !call.signal.aborted;
      const facts = {
        failing,
        isAsking,
        isWaiting: waitingSinceMs !== undefined,
        isWanted: refreshes.size > 0,
        isAwaited: arrivals.size > 0,
        isOwn,
        isConnected: redis.connectionsOf(life) > 0,
      };
      const found = Object.entries(facts).flatMap(([name, isTrue]) => (isTrue ? [name] : []));
      return [life.state, life.core.list.state(), ...found].join(' ');
    },
    probe: (life: Life) => {
      const minutes = life.history.minutes();
      const renewed = minutes.reduce((sum, minute) => sum + minute.renewed, 0);
      const { renewed: all } = fileOf(life);
      const isShort = now() - life.startedAtMs < 359 * 60 * SECOND;
      expect(isShort ? renewed === all : renewed <= all, 'the history is true', () => `${renewed} of ${all}`);
      const { ageMs } = life.core.list.status();
      expect(
        (minutes.at(-1)?.oldestAgeMs ?? -1) >= (ageMs ?? -1) - 1,
        'the history is true',
        () => 'the age',
      );
    },
  };
};

/** No signal collects listeners, and no rejected promise is without a handler. @returns a function that ends the watch */
export const watchProcess = (broken: (promised: Promised, details: string) => void): (() => void) => {
  const onRejection = (reason: unknown): void =>
    broken('rejections are handled', reason instanceof Error ? (reason.stack ?? '') : String(reason));
  process.on('unhandledRejection', onRejection);
  // oxlint-disable-next-line typescript/unbound-method -- it is called with the target that it is called on
  const add = EventTarget.prototype.addEventListener;
  EventTarget.prototype.addEventListener = function (this: EventTarget, ...args: Parameters<typeof add>) {
    add.apply(this, args);
    if (this instanceof AbortSignal && getEventListeners(this, 'abort').length > 8)
      broken('nothing is left behind', 'listeners of a signal');
  };
  return () => {
    process.off('unhandledRejection', onRejection);
    EventTarget.prototype.addEventListener = add;
  };
};

const newFile = (nowMs: number): File => ({
  held: undefined,
  origin: undefined,
  isOwn: false,
  isGenuine: true,
  failing: false,
  attempts: 0,
  failedAtMs: -Infinity,
  retryAtMs: -Infinity,
  retryAfterMs: undefined,
  nextLoadBoundMs: undefined,
  call: undefined,
  callHasLease: false,
  wasUnauthorized: false,
  delivery: undefined,
  confirmations: 0,
  wholeAtMs: -Infinity,
  excuses: new Map(),
  progressAtMs: nowMs,
  tokenCall: undefined,
  tokenRetryAtMs: -Infinity,
  hadUnauthorized: false,
  token: '',
  lastTokenText: '',
  stores: new Map(),
  refreshes: new Set(),
  refreshedAtMs: -Infinity,
  renewal: undefined,
  waitingSinceMs: undefined,
  unwellSinceMs: undefined,
  arrivals: new Set(),
  renewed: 0,
  second: -1,
  done: { commands: 0, timers: 0, calls: 0, refreshes: 0 },
});
