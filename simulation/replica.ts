import { LONGEST_TIMER_MS, monotonic, wall, type Clock } from '../src/clock.ts';
import { parseConfig, type Config } from '../src/config/config.ts';
import { createCore, type Core } from '../src/core.ts';
import { StoreError } from '../src/sharing/list-store.ts';
import type { Files } from '../src/sharing/snapshot-file.ts';
import { MAX_BODY_BYTES } from './answers.ts';
import type { Setup } from './events.ts';
import { Facts } from './judges/facts.ts';
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
  /** What the judges know of it. */
  readonly facts: Facts;
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
    this.facts = new Facts(nowMs);
    this.stateSinceMs = nowMs;
  }

  /** By how much what began at `sinceMs` may be late because timers were. */
  lateMs(sinceMs: number): number {
    return this.delays.reduce((sum, { dueMs, lateMs }) => (dueMs >= sinceMs ? sum + lateMs : sum), 0);
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

/** Pings of idle connections to Redis; see `after` below. */
const HEARTBEAT_MS = 5_000;
/** They are set when one of these arrives. */
const HEARTBEATS: ReadonlySet<string> = new Set(['redis answers ping', 'redis answers subscribe']);
const CALM_MS = 20_000;

export const createReplicas = (
  world: World,
  { hasEarlyTimers }: Setup,
  provider: ProviderWorld,
  redis: RedisWorld,
) => {
  const { news } = world;

  const createClock = (life: Life): Clock => {
    const { replica } = life;
    const offsetMs = 1_000 + Math.floor(world.luck(`boot ${replica.name}`) * 1e6);
    const after = (delayMs: number, task: () => void): (() => void) => {
      news.emit('timer', life);
      const lateMs =
        replica.tardyMs === 0 ? 0 : Math.floor(world.luck(`tardy ${replica.name}`) ** 2 * replica.tardyMs);
      let isPending = true;
      life.timers += 1;
      const end = (): void => {
        if (isPending) life.timers -= 1;
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
            world.later(world.luck('heartbeat') * HEARTBEAT_MS, life, 'timer', () => isPending && run());
        };
        redis.sleep(wake);
        return end;
      }
      const earlyMs = hasEarlyTimers && lateMs === 0 ? world.luck(`early ${replica.name}`) : 0;
      const waitMs = Math.min(delayMs, LONGEST_TIMER_MS) + lateMs - earlyMs;
      if (lateMs > 0) life.delays.push({ dueMs: world.nowMs() + waitMs, lateMs });
      const cancel = world.later(waitMs, life, 'timer', run);
      return () => {
        end();
        cancel();
      };
    };
    return {
      monotonicMs: () => monotonic(world.nowMs() + offsetMs),
      wallMs: () => wall(Math.floor(world.wallMs() + replica.wallOffsetMs)),
      after,
      turn: () => new Promise((resolve) => void world.later(0, life, 'turn', resolve)),
    };
  };

  const createFiles = (life: Life): Files => {
    const { disk, name } = life.replica;
    const wait = (what: string): Promise<void> =>
      new Promise((resolve) => {
        news.emit('disk', life);
        world.later(1 + world.luck(`disk ${name}`) * disk.slowMs, life, what, resolve);
      });
    const fail = (code: string | undefined): never => {
      throw Object.assign(new Error(code), code !== undefined && { code });
    };
    return {
      read: async () => {
        await wait('the disk reads');
        news.emit('disk done', life, disk.fails ? 'failed' : 'read');
        if (disk.fails) fail('EIO');
        return disk.content ?? fail('ENOENT');
      },
      replace: async (_path, content) => {
        life.writes += 1;
        try {
          await wait('the disk writes');
          if (disk.fails) {
            news.emit('disk done', life, 'failed');
            const luck = Math.floor(world.luck(`disk ${name}`) * 3);
            if (luck === 0) throw new StoreError('is not a snapshot; left as it is');
            fail(luck === 1 ? 'ENOSPC' : undefined);
          }
          disk.content = content;
          await wait('the disk has written');
          news.emit('disk done', life, 'written');
        } finally {
          life.writes -= 1;
        }
      },
      removeAbandoned: () => wait('the disk is cleared'),
    };
  };

  const start = (replica: Replica): void => {
    const life = new Life(replica, world.nowMs());
    const compress = (bytes: Buffer): Promise<Buffer> =>
      new Promise((resolve) => {
        const delayMs = Math.floor(world.luck(`compress ${replica.name}`) ** 4 * 200);
        world.later(delayMs, life, 'compressed', () => resolve(bytes));
      });
    life.core = createCore(replica.config, {
      version: 'simulation',
      clock: createClock(life),
      random: () => world.luck(`jitter ${replica.name}`),
      addSecret: () => undefined,
      emit: (event) => {
        news.emit('told', life, event.type);
        // oxlint-disable-next-line typescript/no-unnecessary-type-assertion -- tsc does not know that they fit together
        news.emit(event.type, life, event as never);
      },
      connect: provider.connect(life),
      loadRedisClient: () => Promise.resolve(redis.createClient(life)),
      files: createFiles(life),
      compressors: { gzip: compress, br: compress },
    });
    replica.life = life;
    void begin(life);
  };

  const begin = async (life: Life): Promise<void> => {
    await life.core.restore();
    if (life.state !== 'restoring') return;
    become(life, 'running');
    life.core.start();
    news.emit('running', life);
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
