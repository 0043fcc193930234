import type { Overridable } from '../../src/banks/guard/guard.ts';
import { createSystemClock, type Clock } from '../../src/clock.ts';
import { parseConfig, type Config } from '../../src/config/config.ts';
import { createCore, type Core } from '../../src/core.ts';
import { unusableOf } from '../../src/secrets/secrets.ts';
import type { Files } from '../../src/sharing/snapshot-file.ts';
import type { ServiceEvent } from '../../src/telemetry/events.ts';
import { createEventLog, createLogger } from '../../src/telemetry/log.ts';
import { FIELDS, MIN_BANKS, OTHER_SETTINGS, type Fields } from './bank-lists.ts';
import type { History, Process, Refresh, Visit } from './history.ts';
import type { Setup } from './plan.ts';
import type { Caller, ProviderWorld } from './provider.ts';
import type { RedisUser, RedisWorld } from './redis.ts';
import {
  ADDRESS,
  newSecretFile,
  SECRET_NAMES,
  secretIn,
  TOKEN,
  type MachineFiles,
  type SecretFile,
  type SecretName,
} from './secret-files.ts';
import { newOwner, type World } from './world.ts';

// A replica: a machine with a clock and a disk of its own, and the real core in it. It is started,
// stopped and killed many times; the disk, and what is wrong with the clock, survive that. Its
// users and operators are here too.

export interface Machine {
  readonly name: string;
  readonly index: number;
  readonly fields: Fields;
  readonly config: Config;
  /** What its wall clock is wrong by, or the moment at which it stands still. */
  wall: { readonly errorMs: number } | { readonly stoppedAtMs: number };
  /** How long it has slept; one of its clocks does not count that. */
  sleptMs: number;
  readonly disk: { content: Buffer | undefined; slowMs: number; fails: boolean };
  /** Those with its secrets; none where variables have them. */
  readonly secretFiles: MachineFiles;
  life: Life | undefined;
}

/** One run of the process. */
export interface Life extends Caller, RedisUser {
  readonly machine: Machine;
  readonly core: Core;
  state: 'restoring' | 'running' | 'stopping' | 'stopped' | 'killed';
  refreshes: number;
}

/** What its clock shows. */
export const wallMs = ({ dateMs }: World, { wall }: Machine): number =>
  Math.floor('errorMs' in wall ? dateMs() + wall.errorMs : wall.stoppedAtMs);

export const newMachine = (setup: Setup, index: number): Machine => {
  const fields = FIELDS[index % 2 > 0 ? setup.otherFleet : 0];
  const env = toEnvironment(setup, index % 2 > 0 ? setup.otherTtlMs : setup.ttlMs, fields);
  const inFiles = SECRET_NAMES.filter((secret) => setup.hasSecretFiles && env[secret]);
  return {
    name: `replica ${index}`,
    index,
    fields,
    config: parseConfig({
      ...env,
      ...Object.fromEntries(
        inFiles.flatMap((secret) => [
          [secret, ''],
          [`${secret}_FILE`, FOLDER + secret],
        ]),
      ),
    }),
    wall: { errorMs: setup.wallErrorsMs[index] ?? 0 },
    sleptMs: 0,
    disk: { content: undefined, slowMs: 5, fails: false },
    secretFiles: new Map(inFiles.map((secret) => [secret, newSecretFile(env[secret] ?? '')])),
    life: undefined,
  };
};

/** Where files with secrets are. */
const FOLDER = '/secrets/';

const toEnvironment = (
  setup: Setup,
  ttlMs: number,
  fields: Fields,
): Readonly<Record<string, string | undefined>> => ({
  PROVIDER_ENVIRONMENT: 'sandbox',
  PROVIDER_SANDBOX_BASE_URL: 'http://provider.example',
  PROVIDER_ACCESS_TOKEN: TOKEN,
  PROVIDER_TIMEOUT: `${setup.timeoutMs}ms`,
  PROVIDER_MAX_BODY: '128kb',
  BANK_FIELDS: fields,
  BANK_REQUIRED_FIELDS: 'code,ispb',
  ...(setup.isInside && { BANK_LIST: 'data.banks' }),
  GUARD_MIN_BANKS: String(MIN_BANKS),
  CACHE_TTL: `${ttlMs}ms`,
  CACHE_MAX_STALE: `${setup.maxStaleMs}ms`,
  ...(setup.hasSnapshot && { CACHE_SNAPSHOT_FILE: '/snapshot' }),
  ...(setup.hasRedis && { CACHE_REDIS_URL: ADDRESS }),
  ...(setup.isSigned && { CACHE_SIGNING_KEY: 'the key of all of these replicas' }),
  ...OTHER_SETTINGS[FIELDS.indexOf(fields)],
});

/**
 * Between two looks at Redis; see `after` below. No other wait of the simulated fleets has this
 * length.
 */
const POLL_MS = 5_000;
const STEADY_MS = 20_000;
/** More uses than this in a second are a loop. */
const MOST_USES = 300;

export interface Surroundings {
  readonly world: World;
  readonly history: History;
  readonly provider: ProviderWorld;
  readonly redis: RedisWorld;
}

const createClock = (
  { world, redis }: Surroundings,
  machine: Machine,
  life: RedisUser,
  nextLoadInMs: () => number,
): Clock => {
  const bootMs = 1_000 + Math.floor(world.luck(`boot ${machine.name}`) * 1e6);
  const system = createSystemClock({
    running: () => world.nowMs() - machine.sleptMs + bootMs,
    wall: () => wallMs(world, machine),
    uptime: () => (world.nowMs() + bootMs) / 1_000,
    setTimer: () => () => {},
  });
  const after = (delayMs: number, task: () => void): (() => void) => {
    life.onUse('a timer');
    // Looks at a Redis in which nothing happens would be most of the work: those until the next
    // load are left out.
    const isPoll =
      delayMs === POLL_MS &&
      redis.steadyForMs() >= STEADY_MS &&
      // What has just been written may have come after the look before.
      redis.unchangedForMs() >= POLL_MS;
    const looks = isPoll ? Math.floor(nextLoadInMs() / POLL_MS) : 0;
    if (looks < 2) return world.later(delayMs, life, 'timer', task);
    const fromMs = world.nowMs();
    let cancel = (): void => {};
    const forget = redis.onChange(() => {
      cancel();
      // A look that is due at this moment is not put off.
      wait((POLL_MS - ((world.nowMs() - fromMs) % POLL_MS)) % POLL_MS);
    });
    const wait = (ms: number): void => {
      cancel = world.later(ms, life, 'timer', () => {
        forget();
        task();
      });
    };
    wait(looks * POLL_MS);
    return () => {
      forget();
      cancel();
    };
  };
  return {
    ...system,
    after,
    turn: () => new Promise((resolve) => void world.later(0, life, 'turn', resolve)),
  };
};

const createFiles = ({ world }: Surroundings, { disk, name }: Machine, life: RedisUser): Files => {
  const wait = (what: string): Promise<void> =>
    new Promise((resolve) => {
      life.onUse('the disk');
      world.later(1 + world.luck(`disk ${name}`) * disk.slowMs, life, what, resolve);
    });
  return {
    read: async () => {
      await wait('the disk reads');
      if (disk.fails) fail('EIO');
      return disk.content ?? fail('ENOENT');
    },
    replace: async (_path, content) => {
      await wait('the disk writes');
      if (disk.fails) fail('ENOSPC');
      disk.content = content;
      await wait('the disk has written');
    },
    removeAbandoned: () => wait('the disk is cleared'),
  };
};

const fail = (code: string): never => {
  throw Object.assign(new Error(code), { code });
};

/** How often a service looks at its files. */
const LOOK_EVERY_MS = 500;

/**
 * Somebody changes the file with a secret. Looks at files in which nothing has changed are left
 * out.
 */
export const changeSecretFile = (
  { world, history, redis }: Surroundings,
  { index, name: machine, secretFiles, life }: Machine,
  name: SecretName,
  change: Partial<Pick<SecretFile, 'version' | 'flaw'>>,
): void => {
  const file = secretFiles.get(name);
  if (!file) return;
  Object.assign(file, change);
  history.holdings.push({ index, name, fromMs: world.nowMs(), secret: secretIn(file) });
  if (name === 'CACHE_SIGNING_KEY') redis.rename();
  const delayMs = world.luck(`secrets ${machine}`) * LOOK_EVERY_MS;
  if (life)
    world.later(delayMs, life, 'files are looked at', () => {
      if (life.state === 'running') void life.core.secrets.check();
    });
};

/** Until a process that could not start is started again. */
const STARTED_AGAIN_MS = 15_000;

/** Starts the process of a replica. */
export const start = (surroundings: Surroundings, machine: Machine): void => {
  const { world, history, provider, redis } = surroundings;
  const { config, name, index, fields } = machine;
  const { ttlMs, maxStaleMs } = config.cache;
  const { timeoutMs } = config.provider;
  const nowMs = world.nowMs();
  const span = {
    startedAtMs: nowMs,
    startedWallMs: wallMs(world, machine),
    snapshot: machine.disk.content,
    readyAtMs: Infinity,
    endedAtMs: Infinity,
    endedWallMs: Infinity,
    killedAtMs: Infinity,
  };
  const process: Process = { name, index, fields, ttlMs, maxStaleMs, timeoutMs, ...span };
  let [second, uses] = [0, 0];
  const onUse = (what: string): void => {
    if (life.state === 'stopped') history.defects.push(`${name} uses ${what} after it has stopped`);
    const now = Math.floor(world.nowMs() / 1_000);
    uses = now === second ? uses + 1 : 0;
    second = now;
    if (uses === MOST_USES)
      history.defects.push(`${name} uses timers and stores ${uses} times in a second`);
  };
  // The core uses its surroundings while it is made.
  const life = {
    ...newOwner(name),
    machine,
    process,
    state: 'restoring' as Life['state'],
    refreshes: 0,
    onUse,
    hasList: (): boolean => core.list.served() !== undefined,
  };
  const compress =
    (coding: string) =>
    (bytes: Buffer): Promise<Buffer> =>
      new Promise((resolve) => {
        const delayMs = Math.floor(world.luck(`compress ${name}`) ** 4 * 600);
        world.later(delayMs, life, 'compressed', () => resolve(compressed(coding, bytes)));
      });
  let lines: Record<string, unknown>[] = [];
  const log = createEventLog(
    createLogger('info', { write: (line) => void lines.push(JSON.parse(line)) }),
    true,
  );
  const emit = (event: ServiceEvent): void => {
    lines = [];
    log(event);
    const listOf = (list: { readonly json: Buffer } | undefined) =>
      list && provider.find(fields, list.json);
    history.reports.push({
      process,
      atMs: world.nowMs(),
      wallMs: wallMs(world, machine),
      event,
      ...('list' in event && { list: listOf(event.list) }),
      ...('previous' in event && { previous: listOf(event.previous) }),
      lines,
    });
  };
  const core = createCore(config, {
    version: 'simulation',
    clock: createClock(
      surroundings,
      machine,
      life,
      () => machine.life?.core.list.status().nextLoadInMs ?? 0,
    ),
    random: () => world.luck(`jitter ${name}`),
    addSecret: () => undefined,
    findEcho: (json) => (json.includes(TOKEN) ? 'PROVIDER_ACCESS_TOKEN' : undefined),
    emit,
    exchange: provider.connect(life),
    loadRedisClient: () => Promise.resolve(redis.createClient(life)),
    files: createFiles(surroundings, machine, life),
    compressors: { gzip: compress('gzip'), br: compress('br') },
  });
  const started: Life = Object.assign(life, { core });
  machine.life = started;
  history.processes.push(process);
  const begin = async (): Promise<void> => {
    const unusableFiles = await core.secrets.check();
    process.restoredFrom = await core.restore();
    if (life.state !== 'restoring') return;
    if (unusableFiles.length > 0 && !core.list.served()) {
      kill(surroundings, machine);
      world.later(STARTED_AGAIN_MS, newOwner(name), 'start', () => {
        if (!machine.life) start(surroundings, machine);
      });
      return;
    }
    life.state = 'running';
    process.readyAtMs = world.nowMs();
    core.start();
    const soonMs = world.luck('first browser') * 300;
    world.later(soonMs, life, 'a browser comes', () => {
      if (started.state === 'running') void visit(surroundings, started);
    });
  };
  void begin();
};

const compressed = (coding: string, bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from(coding), bytes]);

const noteEnd = (world: World, machine: Machine, process: Process): void => {
  process.endedAtMs = world.nowMs();
  process.endedWallMs = wallMs(world, machine);
};

/** As by SIGKILL. */
export const kill = ({ world, redis }: Surroundings, machine: Machine): void => {
  const { life } = machine;
  if (!life) return;
  life.state = 'killed';
  life.isAlive = false;
  life.process.killedAtMs = world.nowMs();
  if (life.process.endedAtMs === Infinity) noteEnd(world, machine, life.process);
  redis.forget(life);
  machine.life = undefined;
};

/** Longest time in which a stop ends: that of its stores. */
const STOP_MS = 10_000;

/** As by SIGTERM. */
export const stop = async ({ world, history }: Surroundings, machine: Machine): Promise<void> => {
  const { life, disk } = machine;
  if (life?.state !== 'running') return;
  life.state = 'stopping';
  const nowMs = world.nowMs();
  noteEnd(world, machine, life.process);
  const limitMs = STOP_MS + 3 * disk.slowMs;
  const checkLater = (sinceMs: number): void =>
    void world.later(limitMs, life, 'stop is checked', () => {
      if (life.state !== 'stopping') return;
      // It slept meanwhile.
      if (life.asleepUntilMs > sinceMs) checkLater(world.nowMs());
      else history.defects.push(`${life.name} has not stopped after ${limitMs} ms`);
    });
  checkLater(nowMs);
  life.core.secrets.stop();
  await life.core.stop();
  if (life.isAlive) life.state = 'stopped';
};

/** Somebody reads /healthz, /readyz and the metrics. */
const look = ({ world, history, provider }: Surroundings, life: Life): void => {
  const { core, process, machine } = life;
  const status = core.list.status();
  const { cached } = status;
  history.readings.push({
    process,
    atMs: world.nowMs(),
    wallMs: wallMs(world, machine),
    status,
    list: cached && provider.find(process.fields, cached.json),
    isReady: core.list.served() !== undefined,
    isSaved: cached !== undefined && (machine.disk.content?.includes(cached.json) ?? false),
    unusableFiles: unusableOf(core.secrets.states()).map(({ variable }) => variable),
  });
};

/** A browser asks for the list, and a probe how all is. */
export const visit = async (surroundings: Surroundings, life: Life): Promise<void> => {
  const { world, history, provider } = surroundings;
  const { core, process } = life;
  look(surroundings, life);
  const atMs = world.nowMs();
  const found: Visit = { process, atMs };
  history.visits.push(found);
  try {
    const { list, freshForMs } = core.list.served() ?? (await core.list.waitUntilServed());
    const known = provider.find(process.fields, list.json);
    if (known) found.list = known;
    else history.defects.push(`${life.name} serves a list that the provider never had`);
    const { identity, gzip, br } = list.representations;
    found.etags = [identity.etag, gzip.etag, br.etag];
    const isRight =
      identity.body.equals(list.json) &&
      gzip.body.equals(compressed('gzip', list.json)) &&
      br.body.equals(compressed('br', list.json));
    if (!isRight) history.defects.push(`${life.name} serves something else in another coding`);
    found.ageMs = process.ttlMs - freshForMs;
  } catch (error) {
    found.failure = kindOf(error);
    found.retryInMs = core.list.retryInMs();
  }
  found.endedAtMs = world.nowMs();
};

/** An operator asks for a refresh. */
export const refresh = async (
  { world, history }: Surroundings,
  life: Life,
  accepts: readonly Overridable[],
): Promise<void> => {
  const problems = await life.core.renewSecrets();
  const id = `refresh-${history.refreshes.length}`;
  const made: Refresh = { process: life.process, atMs: world.nowMs(), accepts, id, problems };
  history.refreshes.push(made);
  life.refreshes += 1;
  const failure = await life.core.list.refresh(accepts, id);
  life.refreshes -= 1;
  made.endedAtMs = world.nowMs();
  made.answer = failure?.kind ?? (life.core.list.status().isShared === false ? 'not shared' : 'ok');
};

/** What an operator reads on the status page: the guard refuses the provider's list. */
export const isRefused = ({ core }: Life): boolean => {
  const { failure } = core.list.status();
  return failure?.kind === 'shrunk' || failure?.kind === 'drifted';
};

const kindOf = (error: unknown): NonNullable<Visit['failure']> =>
  typeof error === 'object' && error !== null && 'kind' in error
    ? (error.kind as NonNullable<Visit['failure']>)
    : 'internal';
