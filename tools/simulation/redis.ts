import { storeTime } from '../../src/clock.ts';
import { COMPARED_BYTES, type CreateRedisClient } from '../../src/sharing/redis-client.ts';
import { mutate } from '../../test/helpers/random.ts';
import { serialIn } from './bank-lists.ts';
import { MINUTE } from './durations.ts';
import { forged } from './forgery.ts';
import type { History, Process } from './history.ts';
import { toPreviousFormat, type PreviousFormat } from './previous-release.ts';
import { ADDRESS } from './secret-files.ts';
import { newOwner, type Owner, type World } from './world.ts';

// The Redis server that replicas share, and their connections to it, at the interface of
// src/sharing/redis-client.ts. Commands of one connection arrive in order, as on TCP. What has been
// sent takes effect even if its sender gives up.

/** What can be wrong on the way of one replica or of all, for a while. */
export const REDIS_FAULTS = [
  'refuses connections',
  'answers nothing',
  'hangs on writes',
  'is read-only',
  'is full',
  'is loading',
  'is slow',
  'loses replies',
  'loses messages',
  'doubles messages',
  'delays messages',
] as const;
export type RedisFault = (typeof REDIS_FAULTS)[number];

/** A process with connections. */
export interface RedisUser extends Owner {
  readonly process: Process;
  onUse(what: string): void;
}

interface Value {
  readonly bytes: Buffer;
  /** By the server's clock. */
  readonly expiresAtMs: number;
}

const NONE = Buffer.alloc(0);
type Values = ReadonlyMap<string, Value>;
interface State {
  readonly atMs: number;
  readonly values: Values;
  readonly era: number;
}

const newConnection = (owner: RedisUser, url: string, onError: (error: unknown) => void) => ({
  owner,
  url,
  onError,
  listeners: new Map<string, (message: string) => void>(),
  rejectAll: new Set<(error: Error) => void>(),
  state: 'new' as 'new' | 'open' | 'closed',
  /** Nothing arrives any more, and neither side learns of it. */
  isHalfOpen: false,
  /** Nothing arrives before what was sent earlier. */
  lastArrivalMs: 0,
  lastReplyMs: 0,
});
type Connection = ReturnType<typeof newConnection>;

/** With something written into it at random, or with little left of it. */
export const spoilt = (bytes: Buffer, random: () => number): Buffer => {
  if (random() < 0.2) return bytes.subarray(0, Math.floor(random() * 60));
  return Buffer.from(mutate(bytes.toString('latin1'), random, ['}', '\n', '0']), 'latin1');
};

/** Little is left, with which no reader can begin anything. */
const cutShort = (bytes: Buffer, random: () => number): Buffer =>
  bytes.subarray(0, 1 + Math.floor(random() * 30));

/** `forged`: into what could be right but for its signature. */
const DAMAGES = { forged, spoilt, 'cut short': cutShort };
export type Damage = keyof typeof DAMAGES;

/** What of it. */
export const PARTS = ['all', 'head', 'list', 'lease'] as const;
type Part = (typeof PARTS)[number];

export type RedisWorld = ReturnType<typeof createRedisWorld>;

export const createRedisWorld = (world: World, history: History) => {
  const server = newOwner('redis');
  const connections = new Set<Connection>();
  const faults = new Map<number | 'all', Set<RedisFault>>();
  /** What it had, oldest first: a fail-over may bring back some of it. The last is what it has. */
  const states: State[] = [{ atMs: 0, values: new Map(), era: 0 }];
  let eras = 0;
  /** Its clock is right, or wrong by days, and by a little more after each fail-over. */
  let clockErrorMs =
    world.luck('redis clock') < 0.3 ? 0 : Math.floor((world.luck('redis clock') - 0.5) * 1e10);
  /** The addresses with a user and a password that are right. */
  const accepted = new Set([ADDRESS]);
  let troubledAtMs = -Infinity;
  let changedAtMs = -Infinity;
  const wakers = new Set<() => void>();

  const timeMs = (): number => Math.floor(world.dateMs() + clockErrorMs);
  const nowEra = (): number => states.at(-1)?.era ?? 0;
  const now = (): Values => states.at(-1)?.values ?? new Map();
  const get = (key: string): Buffer | undefined => {
    const value = now().get(key);
    return value && value.expiresAtMs > timeMs() ? value.bytes : undefined;
  };
  const become = (values: Values, era = nowEra()): void => {
    states.push({ atMs: world.nowMs(), values, era });
    if (history.eras.at(-1)?.number !== era)
      history.eras.push({ fromMs: world.nowMs(), number: era });
    if (states.length > 200) states.shift();
  };
  const wakeAll = (): void => {
    for (const wake of wakers) wake();
    wakers.clear();
  };
  const has = ({ owner }: Connection, fault: RedisFault): boolean =>
    (faults.get('all')?.has(fault) ?? false) ||
    (faults.get(owner.process.index)?.has(fault) ?? false);
  const lag = (connection: Connection): number =>
    Math.floor(world.luck(`redis ${connection.owner.name}`) ** 4 * 30) +
    (has(connection, 'is slow') ? world.luck('slow redis') * 600 : 0);

  const drop = (connection: Connection, error: Error): void => {
    if (connection.state === 'closed') return;
    connection.state = 'closed';
    connections.delete(connection);
    for (const reject of connection.rejectAll) reject(error);
  };
  const refusal = (connection: Connection, isWrite: boolean): Error | undefined => {
    if (has(connection, 'is loading'))
      return new Error('LOADING Redis is loading the dataset in memory');
    if (isWrite && has(connection, 'is read-only'))
      return new Error("READONLY You can't write against a read only replica.");
    if (isWrite && has(connection, 'is full')) return new Error('OOM command not allowed');
    return undefined;
  };

  const send = <T>(
    connection: Connection,
    name: string,
    isWrite: boolean,
    effect: () => T,
  ): Promise<T> =>
    new Promise((resolve, reject) => {
      const { owner } = connection;
      if (connection.state !== 'open') {
        reject(new Error('The client is closed'));
        return;
      }
      owner.onUse('Redis');
      const rejectOnce = (error: Error): void => {
        connection.rejectAll.delete(rejectOnce);
        reject(error);
      };
      connection.rejectAll.add(rejectOnce);
      const reply = (answer: () => void): void => {
        connection.lastReplyMs = Math.max(world.nowMs() + lag(connection), connection.lastReplyMs);
        world.later(connection.lastReplyMs - world.nowMs(), owner, `redis answers ${name}`, () => {
          if (connection.state === 'open' && connection.rejectAll.delete(rejectOnce)) answer();
        });
      };
      connection.lastArrivalMs = Math.max(
        world.nowMs() + lag(connection),
        connection.lastArrivalMs,
      );
      world.later(connection.lastArrivalMs - world.nowMs(), server, `redis gets ${name}`, () => {
        if (connection.isHalfOpen || has(connection, 'answers nothing')) return;
        if (
          has(connection, 'refuses connections') ||
          (isWrite && has(connection, 'hangs on writes'))
        )
          return;
        const error = refusal(connection, isWrite);
        if (error) {
          reply(() => reject(error));
          return;
        }
        const result = effect();
        if (!has(connection, 'loses replies')) reply(() => resolve(result));
      });
    });

  const publish = (channel: string, message: string): void => {
    for (const connection of connections) {
      const listener = connection.listeners.get(channel);
      if (!listener || connection.isHalfOpen || has(connection, 'loses messages')) continue;
      if (has(connection, 'answers nothing')) continue;
      const times = has(connection, 'doubles messages') ? 2 : 1;
      for (let time = 0; time < times; time += 1) {
        const delayMs = has(connection, 'delays messages') ? world.luck('message') * 20_000 : 0;
        world.later(lag(connection) + delayMs, connection.owner, 'a message arrives', () => {
          if (connection.state === 'open') listener(message);
        });
      }
    }
  };

  const connect = (connection: Connection): Promise<void> =>
    new Promise((resolve, reject) => {
      connection.owner.onUse('Redis');
      connections.add(connection);
      connection.rejectAll.add(reject);
      world.later(lag(connection), connection.owner, 'redis is connected to', () => {
        if (connection.state === 'closed' || has(connection, 'answers nothing')) return;
        connection.rejectAll.delete(reject);
        const error = has(connection, 'refuses connections')
          ? Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
          : !accepted.has(connection.url) && new Error('WRONGPASS invalid password');
        if (error) {
          connections.delete(connection);
          connection.onError(error);
          reject(error);
        } else {
          connection.state = 'open';
          resolve();
        }
      });
    });

  /** For one process. */
  const createClient =
    (owner: RedisUser): CreateRedisClient =>
    ({ url, onError }) => {
      const connection = newConnection(owner, url, onError);
      return {
        connect: () => connect(connection),
        destroy: () => drop(connection, new Error('The client is closed')),
        read: (keys, maxBytes) =>
          send(connection, 'read', false, () => ({
            storeMs: storeTime(timeMs()),
            values: keys.map((key) => get(key)?.subarray(0, maxBytes)),
          })),
        compareAndSet: (expected, entries, lifeMs) =>
          send(connection, 'compareAndSet', true, () => {
            // Compared by their beginning.
            const found = get(entries[0]?.key ?? '')?.subarray(0, COMPARED_BYTES) ?? NONE;
            if (!found.equals(expected?.subarray(0, COMPARED_BYTES) ?? NONE)) return false;
            const values = new Map(now());
            for (const { key, value } of entries) {
              values.set(key, { bytes: value, expiresAtMs: timeMs() + lifeMs });
              const call = history.calls[serialIn(value.toString('latin1')) - 1];
              if (call) history.writes.push({ atMs: world.nowMs(), call, writer: owner.process });
            }
            become(values);
            changedAtMs = world.nowMs();
            wakeAll();
            return true;
          }),
        publish: (channel, message) =>
          send(connection, 'publish', true, () => publish(channel, message)),
        subscribe: (channel, onMessage) =>
          send(
            connection,
            'subscribe',
            false,
            () => void connection.listeners.set(channel, onMessage),
          ),
      };
    };

  const cut = (isCut: (connection: Connection) => boolean): void => {
    for (const connection of [...connections].filter(isCut)) {
      if (connection.state !== 'open') continue;
      drop(connection, new Error('Socket closed unexpectedly'));
      connection.onError(new Error('Socket closed unexpectedly'));
    }
  };
  /** What sleeps until something is wrong wakes up, and does not sleep again for a while. */
  const troubling = (change: () => void, lastingMs = 0): void => {
    troubledAtMs = Math.max(troubledAtMs, world.nowMs() + lastingMs);
    wakeAll();
    change();
  };
  return {
    createClient,
    fault: (who: number | 'all', fault: RedisFault, isOn: boolean): void =>
      troubling(() => {
        const found = faults.get(who) ?? new Set();
        faults.set(who, found);
        if (isOn) found.add(fault);
        else found.delete(fault);
        if (isOn && fault === 'refuses connections') cut((connection) => has(connection, fault));
      }),
    heal: (): void =>
      troubling(() => {
        faults.clear();
        // A half-open connection is found by its next ping.
      }),
    /** @param who the replica whose connections end, or those of all */
    cut: (who: number | 'all'): void =>
      troubling(() => cut(({ owner }) => who === 'all' || owner.process.index === who)),
    halfOpen: (who: number | 'all'): void =>
      troubling(() => {
        for (const connection of connections)
          if (who === 'all' || connection.owner.process.index === who) connection.isHalfOpen = true;
      }),
    /** Another server takes over, whose data are so old, or which has none. */
    failOver: (lostMs: number): void =>
      troubling(() => {
        const untilMs = world.nowMs() - lostMs;
        const older = states.findLast(({ atMs }) => atMs <= untilMs);
        // What is lost does not come back.
        states.splice(older ? states.indexOf(older) + 1 : 0);
        become(older?.values ?? new Map(), older?.era ?? (eras += 1));
        clockErrorMs += Math.floor((world.luck('redis clock') - 0.5) * 400);
        cut(() => true);
      }),
    /** Somebody deletes everything; connections stay. */
    empty: (): void => troubling(() => become(new Map(), (eras += 1))),
    /**
     * Has what the previous release would have saved, and nothing else.
     * @param isSigned whether its lists are those of the fleets with a key, which have other names
     */
    becomePrevious: (isSigned: boolean): readonly PreviousFormat[] => {
      const entries = [...now()].flatMap(([key, { bytes, ...value }]) => {
        const previous = key.includes('.') === isSigned ? toPreviousFormat(bytes) : undefined;
        return previous ? [{ ...previous, value: { ...value, bytes: previous.bytes } }] : [];
      });
      const byKey = new Map(entries.map((entry) => [entry.key, entry]));
      const values = [...byKey].map(([key, { value }]) => [key, value] as const);
      troubling(() => become(new Map(values), (eras += 1)));
      return [...byKey.values()];
    },
    accept: (url: string, isAccepted: boolean): void => {
      if (isAccepted) accepted.add(url);
      else accepted.delete(url);
    },
    /** A replica has another key, or none, and other names for what it shares: it begins anew. */
    rename: (): void => troubling(() => become(now(), (eras += 1))),
    /** Its clock is set. */
    setClock: (byMs: number): void => troubling(() => void (clockErrorMs += byMs)),
    /** Somebody writes into these values. */
    spoil: (damage: Damage, part: Part): void =>
      troubling(() => {
        const random = (): number => world.luck('garbage');
        const entries = [...now()].map(([key, value]) => {
          const isHit = part === 'all' || key.endsWith(`:${part}`);
          return [
            key,
            isHit ? { ...value, bytes: DAMAGES[damage](value.bytes, random) } : value,
          ] as const;
        });
        become(new Map(entries), (eras += 1));
        // Who has replaced many unreadable lists may replace the next one a minute later.
      }, MINUTE),
    /** What the process that has ended had open. */
    forget: (owner: Owner): void => {
      for (const connection of connections)
        if (connection.owner === owner) {
          connection.state = 'closed';
          connections.delete(connection);
        }
    },
    /** How long it has been as right or wrong as it is. */
    steadyForMs: (): number => world.nowMs() - troubledAtMs,
    /** How long ago something was written. */
    unchangedForMs: (): number => world.nowMs() - changedAtMs,
    /**
     * Calls `wake` at the next trouble, or when something is written.
     * @returns a function that cancels it
     */
    onChange: (wake: () => void): (() => void) => {
      wakers.add(wake);
      return () => void wakers.delete(wake);
    },
  };
};
