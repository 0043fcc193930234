import type { ManualClock } from '../helpers/manual-clock.ts';
import type { ConnectToRedis, RedisClient, RedisKeys } from '../../src/sharing/redis-client.ts';

// A Redis in memory, on a clock that is moved by hand, with the faults that a real one has.
// test/fleet/protocol.test.ts runs the same cases on it and on a real redis-server.

export type RedisFault =
  /** Refuses connections, and ends those that there are. */
  | 'refuses'
  /** Answers nothing. What was sent meanwhile is carried out later, as after SIGSTOP. */
  | 'silent'
  /** A replica of Redis: can be read. */
  | 'read-only'
  /** At `maxmemory`: can be read. */
  | 'full'
  /** Carries out each operation, and loses the connection before the reply. */
  | 'loses-replies';

interface Entry {
  /** Undefined: it has another type, such as a list. */
  readonly value: Buffer | undefined;
  /** By the clock of the test; undefined: never. */
  readonly endsAtMs: number | undefined;
}

export type FakeRedis = ReturnType<typeof createFakeRedis>;

export const createFakeRedis = (clock: ManualClock) => {
  let stored = new Map<string, Entry>();
  let fault: RedisFault | undefined;
  /** The clock of Redis less the true time. */
  let aheadMs = 0;
  /** How long a message is under way, there and back. */
  let latencyMs = (): number => 0;
  /** What a silent Redis has received. */
  const received: (() => void)[] = [];
  /** Connections, and attempts to make one: what ends each. */
  const open = new Set<(error: Error) => void>();
  let publications = 0;

  const entryAt = (key: string): Entry | undefined => {
    const entry = stored.get(key);
    return entry?.endsAtMs !== undefined && entry.endsAtMs <= clock.monotonicMs()
      ? undefined
      : entry;
  };
  const textAt = (key: string): string => {
    const entry = entryAt(key);
    if (entry && !entry.value) throw new Error('WRONGTYPE Operation against a key');
    return entry?.value?.toString('latin1') ?? '';
  };
  const leftAt = (key: string): number => {
    const entry = entryAt(key);
    if (!entry) return -2;
    return entry.endsAtMs === undefined ? -1 : Math.round(entry.endsAtMs - clock.monotonicMs());
  };
  const timeUs = (): number => Math.floor(1_000 * (clock.wallMs() + aheadMs));
  const set = (key: string, value: Buffer | undefined, ms?: number): void => {
    const endsAtMs = ms === undefined ? undefined : clock.monotonicMs() + ms;
    stored.set(key, { value, endsAtMs });
  };
  const setOf = (key: string, value: Buffer, ms: number): void => {
    if (fault === 'read-only') throw new Error("READONLY You can't write against a replica.");
    if (fault === 'full') throw new Error('OOM command not allowed when used memory > maxmemory.');
    set(key, value, Math.max(1, Math.round(ms)));
  };
  const idAt = (key: string): string => textAt(key).slice(12, 34);

  /** The three scripts. */
  const scripts = {
    look: (keys: RedisKeys, known: string) => {
      const id = idAt(keys.list);
      return {
        timeUs: timeUs(),
        id,
        body: Buffer.from(id === known ? '' : textAt(keys.list), 'latin1'),
        hold: textAt(keys.hold).slice(0, 256),
        holdLeftMs: leftAt(keys.hold),
      };
    },
    replaceHold: (keys: RedisKeys, seen: string, mine: string, ms: number) => {
      if (textAt(keys.hold).slice(0, 256) !== seen) return 'taken' as const;
      setOf(keys.hold, Buffer.from(mine), ms);
      return { timeUs: timeUs() };
    },
    publish: (
      keys: RedisKeys,
      { ownId, unusable, envelope, ms }: Parameters<RedisClient['publish']>[1],
    ) => {
      const id = idAt(keys.list);
      if (id > ownId && id !== unusable) return 'later_list' as const;
      setOf(keys.list, envelope, ms);
      publications += 1;
      return 'written' as const;
    },
  };

  const later = (task: () => void): void => {
    const ms = latencyMs() / 2;
    if (ms > 0) clock.after(ms, task);
    else task();
  };

  /** Runs `work` in Redis, for a client that is there as long as `open` has `end`. */
  const ask = <T>(work: () => T): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      open.add(reject);
      const reply = (give: () => void): void => later(() => (open.delete(reject), give()));
      const carryOut = (): void => {
        try {
          const value = work();
          if (fault === 'loses-replies') reply(() => reject(connectionLost()));
          else reply(() => resolve(value));
        } catch (error) {
          reply(() => reject(error));
        }
      };
      later(() => {
        if (fault === 'refuses') reply(() => reject(connectionLost()));
        else if (fault === 'silent') received.push(carryOut);
        else carryOut();
      });
    });

  const connect: ConnectToRedis = async ({ signal }) => {
    if (fault === 'refuses') throw Object.assign(new Error(), { code: 'ECONNREFUSED' });
    await Promise.race([
      ask(() => undefined),
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(connectionLost()));
      }),
    ]);
    let isOpen = true;
    const whileOpen = <T>(work: () => T): Promise<T> =>
      isOpen ? ask(work) : Promise.reject(connectionLost());
    return {
      look: (keys, known) => whileOpen(() => scripts.look(keys, known)),
      replaceHold: (keys, seen, mine, ms) =>
        whileOpen(() => scripts.replaceHold(keys, seen, mine, ms)),
      publish: (keys, publication) => whileOpen(() => scripts.publish(keys, publication)),
      destroy: () => void (isOpen = false),
    };
  };

  return {
    connect,
    /** How often a list was written. */
    publications: (): number => publications,
    /** Has this fault until the next call; undefined: works. */
    suffer: (next: RedisFault | undefined): void => {
      fault = next;
      if (fault === 'refuses') {
        for (const end of open) end(connectionLost());
        open.clear();
      }
      if (fault !== 'silent') for (const task of received.splice(0)) task();
    },
    /** What a message takes, there and back, in milliseconds. */
    takeMs: (next: () => number): void => void (latencyMs = next),
    /** Moves the clock of Redis; what it keeps ends as before, as with a monotonic clock. */
    moveClock: (ms: number): void => void (aheadMs += ms),
    keys: (): string[] => [...stored.keys()],
    /** What is in the keys whose names end so: `list` and `hold`, of each namespace. */
    read: (end: keyof RedisKeys): string[] =>
      [...stored.keys()].filter((key) => key.endsWith(`:${end}`) && entryAt(key)).map(textAt),
    /** @param value undefined: of another type than text */
    write: (key: string, value: string | undefined, ms?: number): void =>
      set(key, value === undefined ? undefined : Buffer.from(value, 'latin1'), ms),
    remove: (end: keyof RedisKeys): void => {
      for (const key of stored.keys()) if (key.endsWith(`:${end}`)) stored.delete(key);
    },
    /** Replaces what is in each such key, and leaves its life as it is. */
    change: (end: keyof RedisKeys, to: (value: Buffer) => Buffer): void => {
      for (const [key, entry] of stored)
        if (key.endsWith(`:${end}`) && entry.value)
          stored.set(key, { ...entry, value: to(entry.value) });
    },
    empty: (): void => stored.clear(),
    copy: (): ReadonlyMap<string, Entry> => new Map(stored),
    restore: (copy: ReadonlyMap<string, Entry>): void => void (stored = new Map(copy)),
  };
};

const connectionLost = (): Error => Object.assign(new Error(), { code: 'ECONNRESET' });
