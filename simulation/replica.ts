import { LoadError } from '../src/banks/load-error.ts';
import { LONGEST_TIMER_MS, type Clock } from '../src/clock.ts';
import { parseConfig, type Config } from '../src/config/config.ts';
import { createCore, type Core } from '../src/core.ts';
import { StoreError } from '../src/sharing/list-store.ts';
import type { Files } from '../src/sharing/snapshot-file.ts';
import type { ServiceEvent } from '../src/telemetry/events.ts';
import { MAX_BODY_BYTES } from './answers.ts';
import type { Setup } from './events.ts';
import type { ProviderWorld } from './provider.ts';
import type { RedisWorld } from './redis.ts';
import type { Owner, World } from './world.ts';

// One replica: the real core, with a clock and a disk of its own. It is started, stopped and killed many times; its disk and
// the error of its wall clock survive that.

/** The configuration of a replica with this `CACHE_TTL`. */
export const toConfig = (setup: Setup, ttlMs: number): Config =>
  parseConfig({
    PROVIDER_ENVIRONMENT: 'sandbox',
    PROVIDER_SANDBOX_BASE_URL: 'http://provider.example',
    ...(setup.usesTokens
      ? {
          PROVIDER_TOKEN_URL: 'http://tokens.example/oauth/token',
          PROVIDER_CLIENT_ID: 'simulation',
          PROVIDER_CLIENT_SECRET: 'simulated',
          ...(setup.seed % 2 > 0 && { PROVIDER_TOKEN_FORMAT: 'json', PROVIDER_TOKEN_SCOPE: 'banks' }),
        }
      : { PROVIDER_ACCESS_TOKEN: 'simulated' }),
    PROVIDER_TIMEOUT: `${setup.timeoutMs}ms`,
    PROVIDER_MAX_BODY: `${MAX_BODY_BYTES / 1_024}kb`,
    ...(setup.fields !== 'all' && { BANK_FIELDS: setup.fields, BANK_REQUIRED_FIELDS: 'ispb' }),
    CACHE_TTL: `${ttlMs}ms`,
    CACHE_MAX_STALE: `${setup.maxStaleMs}ms`,
    ...(setup.hasSnapshot && { CACHE_SNAPSHOT_FILE: '/snapshot' }),
    ...(setup.hasRedis && { CACHE_REDIS_URL: 'redis://redis.example' }),
  });

/** One run of the process, from its start to its end. */
export class Life implements Owner {
  readonly name: string;
  readonly replica: Replica;
  /** Some parts of it are made, and look at their life, before all of it is there. */
  core!: Core;
  isAlive = true;
  state: 'restoring' | 'running' | 'stopping' | 'stopped' | 'killed' = 'restoring';
  stateSinceMs: number;
  askedToStopAtMs = Infinity;
  timers = 0;
  /** Timers that were late or will be, and by how much. */
  readonly delays: { dueMs: number; lateMs: number }[] = [];
  /** Writes to the disk that are under way. */
  writes = 0;

  constructor(replica: Replica, nowMs: number) {
    this.name = replica.name;
    this.replica = replica;
    this.stateSinceMs = nowMs;
  }
}

export type Replica = ReturnType<typeof newReplica>;

export const newReplica = (name: string, config: Config) => ({
  name,
  config,
  life: undefined as Life | undefined,
  wallOffsetMs: 0,
  /** Timers fire up to this much late. */
  tardyMs: 0,
  disk: { content: undefined as Buffer | undefined, slowMs: 5, fails: false },
});

/** Is told everything as it happens. */
export interface ReplicaWitness {
  onEvent(life: Life, event: ServiceEvent): void;
  onTimer(life: Life): void;
  onRunning(life: Life): void;
  onDisk(life: Life): void;
  /** It has read or written, or could not. */
  onDiskDone(life: Life, result: 'read' | 'written' | 'failed'): void;
}

/** Wall clocks show this at the beginning. */
export const WALL_START_MS = Date.UTC(2026, 5, 1);
/** Pings of idle connections to Redis; see `after` below. */
const HEARTBEAT_MS = 5_000;
/** They are set when one of these arrives. */
const HEARTBEATS: ReadonlySet<string> = new Set(['redis answers ping', 'redis answers subscribe']);
const CALM_MS = 20_000;

export const createReplicas = (
  world: World,
  { hasEarlyTimers }: Setup,
  surroundings: { readonly provider: ProviderWorld; readonly redis: RedisWorld },
  witness: ReplicaWitness,
) => {
  const { provider, redis } = surroundings;

  const createClock = (life: () => Life, replica: Replica): Clock => {
    const offsetMs = 1_000 + Math.floor(world.luck(`boot ${replica.name}`) * 1e6);
    const after = (delayMs: number, task: () => void): (() => void) => {
      const owner = life();
      witness.onTimer(owner);
      const lateMs =
        replica.tardyMs === 0 ? 0 : Math.floor(world.luck(`tardy ${replica.name}`) ** 2 * replica.tardyMs);
      let isPending = true;
      owner.timers += 1;
      const end = (): void => {
        if (isPending) owner.timers -= 1;
        isPending = false;
      };
      const run = (): void => {
        end();
        task();
      };
      // A ping of a Redis that works changes nothing and would be most of the work: it waits until something happens.
      if (delayMs === HEARTBEAT_MS && HEARTBEATS.has(world.happening()) && redis.calmForMs() > CALM_MS) {
        const wake = (): void => {
          if (isPending)
            world.later(world.luck('heartbeat') * HEARTBEAT_MS, owner, 'timer', () => isPending && run());
        };
        idle.add(wake);
        return end;
      }
      const earlyMs = hasEarlyTimers && lateMs === 0 ? world.luck(`early ${replica.name}`) : 0;
      const waitMs = Math.min(delayMs, LONGEST_TIMER_MS) + lateMs - earlyMs;
      if (lateMs > 0) owner.delays.push({ dueMs: world.nowMs() + waitMs, lateMs });
      const cancel = world.later(waitMs, owner, 'timer', run);
      return () => {
        end();
        cancel();
      };
    };
    return {
      monotonicMs: () => world.nowMs() + offsetMs,
      wallMs: () => Math.floor(WALL_START_MS + world.nowMs() + replica.wallOffsetMs),
      after,
      turn: () => new Promise((resolve) => void world.later(0, life(), 'turn', resolve)),
    };
  };
  const idle = new Set<() => void>();
  redis.onTrouble(() => {
    for (const wake of idle) wake();
    idle.clear();
  });

  const createFiles = (life: () => Life, { disk, name }: Replica): Files => {
    const wait = (what: string): Promise<void> =>
      new Promise((resolve) => {
        witness.onDisk(life());
        world.later(1 + world.luck(`disk ${name}`) * disk.slowMs, life(), what, resolve);
      });
    const fail = (code: string | undefined): never => {
      throw Object.assign(new Error(code), code !== undefined && { code });
    };
    return {
      read: async () => {
        await wait('the disk reads');
        witness.onDiskDone(life(), disk.fails ? 'failed' : 'read');
        if (disk.fails) fail('EIO');
        return disk.content ?? fail('ENOENT');
      },
      replace: async (_path, content) => {
        const writer = life();
        writer.writes += 1;
        try {
          await wait('the disk writes');
          if (disk.fails) {
            witness.onDiskDone(writer, 'failed');
            const luck = Math.floor(world.luck(`disk ${name}`) * 3);
            if (luck === 0) throw new StoreError('is not a snapshot; left as it is');
            fail(luck === 1 ? 'ENOSPC' : undefined);
          }
          disk.content = content;
          await wait('the disk has written');
          witness.onDiskDone(writer, 'written');
        } finally {
          writer.writes -= 1;
        }
      },
      removeAbandoned: () => wait('the disk is cleared'),
    };
  };

  const start = (replica: Replica): void => {
    const clock = createClock(() => life, replica);
    const compress = (bytes: Buffer): Promise<Buffer> =>
      new Promise((resolve) => {
        const delayMs = Math.floor(world.luck(`compress ${replica.name}`) ** 4 * 200);
        world.later(delayMs, life, 'compressed', () => resolve(bytes));
      });
    const life = new Life(replica, world.nowMs());
    life.core = createCore(replica.config, {
      version: 'simulation',
      clock,
      random: () => world.luck(`jitter ${replica.name}`),
      addSecret: () => undefined,
      emit: (event) => witness.onEvent(life, event),
      connect: (options) => provider.connect(life)(options),
      loadRedisClient: () => Promise.resolve(redis.createClient(life)),
      files: createFiles(() => life, replica),
      compressors: { gzip: compress, br: compress, zstd: compress },
    });
    replica.life = life;
    void begin(life);
  };

  const begin = async (life: Life): Promise<void> => {
    await life.core.restore();
    if (life.state !== 'restoring') return;
    become(life, 'running');
    life.core.start();
    witness.onRunning(life);
  };

  const become = (life: Life, state: Life['state']): void => {
    life.state = state;
    life.stateSinceMs = world.nowMs();
  };

  const stop = async ({ life }: Replica): Promise<void> => {
    if (life?.state !== 'running') return;
    become(life, 'stopping');
    life.askedToStopAtMs = world.nowMs();
    await life.core.stop();
    if (life.isAlive) become(life, 'stopped');
  };

  const kill = (replica: Replica): void => {
    const { life } = replica;
    if (!life) return;
    become(life, 'killed');
    life.isAlive = false;
    redis.forget(life);
    replica.life = undefined;
  };

  return { start, stop, kill };
};

/** By how much what began at `sinceMs` may be late because timers were. */
export const lateMs = ({ delays }: Life, sinceMs: number): number =>
  delays.reduce((sum, delay) => (delay.dueMs >= sinceMs ? sum + delay.lateMs : sum), 0);

/** What a request or an operator got. */
export type Outcome = LoadError | undefined | 'not a load error';

export const outcomeOf = (error: unknown): Outcome =>
  error instanceof LoadError ? error : 'not a load error';
