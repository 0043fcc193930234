import { createHash } from 'node:crypto';
import type { CreateRedisClient } from '../src/sharing/redis-client.ts';
import type { Life } from './replica.ts';
import type { Owner, World } from './world.ts';

// The Redis server that replicas share, and their connections to it, at the interface of src/sharing/redis-client.ts.
// Commands of one connection arrive in order, as on TCP. What has been sent takes effect even if its sender gives up.

/** What is wrong with it; `lost replies`: commands take effect and are not answered. */
export const REDIS_FAULTS = [
  'refuses connections',
  'answers nothing',
  'hangs on writes',
  'hangs on reads',
  'is read-only',
  'is full',
  'is loading',
  'loses replies',
  'loses messages',
  'doubles messages',
  'delays messages',
] as const;
export type RedisFault = (typeof REDIS_FAULTS)[number];

interface Value {
  readonly bytes: Buffer;
  /** Undefined if it is no replica. */
  readonly owner: Life | undefined;
  readonly writtenAtMs: number;
  readonly expiresAtMs: number;
}

type Connection = ReturnType<typeof newConnection>;

const newConnection = (owner: Life, onError: (error: unknown) => void) => ({
  owner,
  onError,
  listeners: new Map<string, (message: string) => void>(),
  rejectAll: new Set<(error: Error) => void>(),
  state: 'new' as 'new' | 'open' | 'closed',
  /** Nothing arrives any more, and neither side is told. */
  isHalfOpen: false,
  /** Nothing arrives before what was sent earlier. */
  lastArrivalMs: 0,
  lastReplyMs: 0,
});

/** Stands for a value that no string command can read. */
const OF_ANOTHER_TYPE = Buffer.from('a hash');
const WRITES = new Set(['set', 'setIfAbsent', 'deleteIfEqual', 'publish']);

export const createRedisWorld = (world: World) => {
  const { news } = world;
  const server: Owner = { name: 'redis', isAlive: true };
  const values = new Map<string, Value>();
  const connections = new Set<Connection>();
  const faults = new Set<RedisFault>();
  let slowMs = 0;
  let troubledAtMs = -Infinity;
  const sleeping = new Set<() => void>();
  /** Known from how they are used. */
  let listKey = '';
  let leaseKey = '';
  let forgedAtMs = -Infinity;

  const get = (key: string): Value | undefined => {
    const value = values.get(key);
    if (value && value.expiresAtMs <= world.nowMs()) values.delete(key);
    return values.get(key);
  };
  const put = (key: string, value: string | Buffer, lifeMs: number, owner?: Life): void => {
    const [bytes, nowMs] = [Buffer.from(value), world.nowMs()];
    values.set(key, { bytes, owner, writtenAtMs: nowMs, expiresAtMs: nowMs + lifeMs });
    if (key === listKey) news.emit('list written', bytes, owner);
  };
  const lag = (owner: Owner): number =>
    Math.floor(world.luck(`redis ${owner.name}`) ** 4 * 30 + slowMs * 0.5);

  const drop = (connection: Connection, error: Error): void => {
    if (connection.state === 'closed') return;
    connection.state = 'closed';
    connections.delete(connection);
    for (const reject of connection.rejectAll) reject(error);
  };

  const refusal = (command: string): Error | undefined => {
    if (faults.has('is loading')) return new Error('LOADING Redis is loading the dataset in memory');
    if (command === 'read' && get(listKey)?.bytes.equals(OF_ANOTHER_TYPE))
      return new Error('WRONGTYPE Operation against a key holding the wrong kind of value');
    if (!WRITES.has(command)) return undefined;
    if (faults.has('is read-only')) return new Error("READONLY You can't write against a read only replica.");
    if (faults.has('is full') && command !== 'deleteIfEqual') return new Error('OOM command not allowed');
    return undefined;
  };

  const send = <T>(connection: Connection, command: string, effect: () => T): Promise<T> =>
    new Promise((resolve, reject) => {
      const { owner } = connection;
      news.emit('command', owner, command);
      if (connection.state !== 'open') {
        reject(new Error('The client is closed'));
        return;
      }
      const rejectOnce = (error: Error): void => {
        connection.rejectAll.delete(rejectOnce);
        reject(error);
      };
      connection.rejectAll.add(rejectOnce);
      const reply = (answer: () => void): void => {
        const atMs = Math.max(world.nowMs() + lag(owner), connection.lastReplyMs);
        connection.lastReplyMs = atMs;
        world.later(atMs - world.nowMs(), owner, `redis answers ${command}`, () => {
          if (connection.state === 'open' && connection.rejectAll.delete(rejectOnce)) answer();
        });
      };
      const hangs = (): boolean =>
        faults.has('answers nothing') ||
        faults.has(WRITES.has(command) ? 'hangs on writes' : 'hangs on reads');
      connection.lastArrivalMs = Math.max(world.nowMs() + lag(owner), connection.lastArrivalMs);
      world.later(connection.lastArrivalMs - world.nowMs(), server, `redis gets ${command}`, () => {
        if (connection.isHalfOpen || hangs() || faults.has('refuses connections')) return;
        const error = refusal(command);
        if (error) {
          reply(() => reject(error));
          return;
        }
        const result = effect();
        if (!faults.has('loses replies')) reply(() => resolve(result));
      });
    });

  const publish = (sender: Connection, channel: string, message: string): void => {
    for (const connection of connections) {
      const listener = connection.listeners.get(channel);
      if (!listener || connection.isHalfOpen || faults.has('loses messages')) continue;
      const deliver = (): void => {
        const delayMs =
          lag(connection.owner) + (faults.has('delays messages') ? world.luck('message') * 20_000 : 0);
        world.later(delayMs, connection.owner, 'a message arrives', () => {
          if (connection.state === 'open') listener(message);
        });
      };
      deliver();
      if (faults.has('doubles messages') && sender !== connection) deliver();
    }
  };

  const createClient =
    (owner: Life): CreateRedisClient =>
    ({ onError }) => {
      const connection = newConnection(owner, onError);
      const run = <T>(command: string, effect: () => T): Promise<T> => send(connection, command, effect);
      return {
        connect: () =>
          new Promise((resolve, reject) => {
            news.emit('command', owner, 'connect');
            connections.add(connection);
            connection.rejectAll.add(reject);
            world.later(lag(owner), owner, 'redis is connected to', () => {
              if (connection.state === 'closed') return;
              if (faults.has('refuses connections')) {
                const error = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
                connections.delete(connection);
                onError(error);
                reject(error);
              } else if (!faults.has('answers nothing')) {
                connection.rejectAll.delete(reject);
                connection.state = 'open';
                resolve();
              }
            });
          }),
        destroy: () => drop(connection, new Error('The client is closed')),
        ping: () => run('ping', () => undefined),
        look: () => Promise.reject(new Error('not simulated')),
        compareAndSet: () => Promise.reject(new Error('not simulated')),
        set: (key, value, lifeMs) => run('set', () => put(key, value, lifeMs, owner)),
        setIfAbsent: (key, value, lifeMs) => {
          leaseKey = key;
          return run('setIfAbsent', () => {
            const isGranted = get(key) === undefined;
            // What a closed connection still does is nobody's any more: such a lease expires.
            if (isGranted) put(key, value, lifeMs, connection.state === 'closed' ? undefined : owner);
            news.emit('lease', owner, isGranted, lifeMs, value);
            return isGranted;
          });
        },
        deleteIfEqual: (key, value) =>
          run('deleteIfEqual', () => {
            if (get(key)?.bytes.toString() !== value) return;
            values.delete(key);
            news.emit('lease returned', owner);
          }),
        read: async (key, maxBytes) => {
          listKey = key;
          return run('read', () => {
            const value = get(key);
            const leftMs = value ? Math.ceil(value.expiresAtMs - world.nowMs()) : -2;
            return {
              leftMs: leftMs === Infinity ? -1 : leftMs,
              bytes: value?.bytes.subarray(0, maxBytes) ?? Buffer.alloc(0),
            };
          });
        },
        publish: (channel, message) => run('publish', () => publish(connection, channel, message)),
        subscribe: (channel, onMessage) =>
          run('subscribe', () => void connection.listeners.set(channel, onMessage)),
      };
    };

  const cutAll = (): void => {
    for (const connection of connections) {
      if (connection.state !== 'open') continue;
      drop(connection, new Error('Socket closed unexpectedly'));
      connection.onError(new Error('Socket closed unexpectedly'));
    }
  };
  /** Makes of a change what is known as trouble. */
  const troubling =
    <A extends unknown[]>(change: (...args: A) => void) =>
    (...args: A): void => {
      troubledAtMs = world.nowMs();
      for (const wake of sleeping) wake();
      sleeping.clear();
      change(...args);
    };
  const connectionsOf = (owner: Owner): Connection[] =>
    [...connections].filter((connection) => connection.owner === owner);
  return {
    createClient,
    cutAll: troubling(cutAll),
    fault: troubling((fault: RedisFault, isOn: boolean) => {
      if (isOn) faults.add(fault);
      else faults.delete(fault);
      if (isOn && fault === 'refuses connections') cutAll();
    }),
    slow: troubling((ms: number) => void (slowMs = ms)),
    /** @param rest a fault that stays */
    heal: troubling((rest: RedisFault | undefined) => {
      faults.clear();
      slowMs = 0;
      if (rest) faults.add(rest);
      if (get(leaseKey)?.owner === undefined) values.delete(leaseKey);
      if (rest === 'refuses connections') cutAll();
    }),
    empty: troubling(() => values.clear()),
    /** The connections that are open now; new ones are not. */
    halfOpen: troubling(() => {
      for (const connection of connections) connection.isHalfOpen = true;
    }),
    /** `a list of the future`: its time is an hour ahead; `a longer life`: it seems younger; `garbage`: bytes that are no list. */
    tamper: troubling((how: 'garbage' | 'a list of the future' | 'a longer life') => {
      const value = get(listKey);
      if (!value) return;
      if (how !== 'garbage') forgedAtMs = world.nowMs();
      const isList = value.bytes.includes('"banks":');
      const lifeMs = value.expiresAtMs - world.nowMs();
      const isEndless = world.luck('longer life') < 0.5;
      if (how === 'a longer life')
        put(
          listKey,
          isEndless ? value.bytes.toString().replace(/,"lifeMs":\d+/, '') : value.bytes,
          isEndless ? Infinity : lifeMs + 600_000_000,
        );
      else if (how === 'garbage') put(listKey, spoil(value.bytes, world.luck('garbage')), lifeMs);
      else if (isList) put(listKey, ofTheFuture(value.bytes, world.wallMs()), 600_000_000);
    }),
    /** Somebody who is not there holds the lease. */
    holdLease: troubling((lifeMs: number) => {
      if (leaseKey !== '' && !get(leaseKey)) put(leaseKey, 'nobody', lifeMs);
    }),
    lease: () => get(leaseKey),
    list: () => get(listKey),
    /** When it last got a list of the future, or one whose life was prolonged; -Infinity: never. */
    forgedAtMs: () => forgedAtMs,
    connectionsOf: (owner: Owner) => connectionsOf(owner).length,
    isConnected: (owner: Owner) =>
      connectionsOf(owner).some(({ state, isHalfOpen }) => state === 'open' && !isHalfOpen),
    forget: (owner: Owner) => {
      for (const connection of connectionsOf(owner)) {
        connection.state = 'closed';
        connections.delete(connection);
      }
    },
    /** How long nothing has been wrong with it. */
    calmForMs: () => (faults.size > 0 || slowMs > 0 ? 0 : world.nowMs() - troubledAtMs),
    /** Calls `wake` at the next trouble. */
    sleep: (wake: () => void) => void sleeping.add(wake),
  };
};

export type RedisWorld = ReturnType<typeof createRedisWorld>;

/** What happens to it at once. A holder of the lease who never loads is there for longer than a load, or for half an hour. */
export const REDIS_ONCE = {
  cut: (redis) => redis.cutAll(),
  emptied: (redis) => redis.empty(),
  garbage: (redis) => redis.tamper('garbage'),
  'a list of the future': (redis) => redis.tamper('a list of the future'),
  'a longer life': (redis) => redis.tamper('a longer life'),
  'a lease of nobody': (redis, timeoutMs) => redis.holdLease(timeoutMs + 500),
  'a long lease of nobody': (redis) => redis.holdLease(1_800_000),
  'half-open connections': (redis) => redis.halfOpen(),
} satisfies Record<string, (redis: RedisWorld, timeoutMs: number) => void>;

const HOUR_MS = 3_600_000;

/** `list` behind the header of a saved list, with a checksum that is right; see src/sharing/envelope.ts. */
const seal = (header: string, list: string): string => {
  const checksum = createHash('sha256').update(list).digest('base64url');
  return `${header.replace(/"checksum":"[^"]*"/, `"checksum":"${checksum}"`)}\n${list}\n`;
};

/** A saved list with times an hour ahead. */
const ofTheFuture = (bytes: Buffer, wallMs: number): string => {
  const [header = '', saved = ''] = bytes.toString().split('\n');
  const later = Math.floor(wallMs) + 48 * HOUR_MS;
  const list = saved
    .replace(/"receivedAtMs":\d+/, () => `"receivedAtMs":${Math.floor(wallMs) + HOUR_MS}`)
    // Later than anybody can believe.
    .replace(
      /"changedAtMs":\d+,(?:"acceptedAtMs":\d+,)?/,
      () => `"changedAtMs":${later},"acceptedAtMs":${later},`,
    );
  return seal(header, list);
};

/** Whatever else may be under the key of the list. */
const spoil = (bytes: Buffer, luck: number): string => {
  const [header = '', list = ''] = bytes.toString().split('\n');
  const text = `${header}\n${list}\n`;
  const kinds = [
    'no list',
    text.replace(/"version":\d+/, '"version":9'),
    text.slice(0, -20),
    seal(header, '{"banks":[]}'),
    OF_ANOTHER_TYPE.toString(),
    text.padEnd(100_000),
    text.replace(/"provenance":"[^"]*"/, '"provenance":"another"'),
    seal(header, list.replace('},{', '}, {')),
    // What is wrong only in the third line, which a reader may do without.
    ...['[{"content":"x"}]', '[1]', '{}', '[],"decision":{}'].map((line) => `${text}{"earlier":${line}}\n`),
  ];
  return kinds[Math.floor(luck * kinds.length)] ?? '';
};
