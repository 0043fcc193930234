import { beforeEach } from '@jest/globals';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Emulator } from '../../emulator/emulator.ts';
import { wall } from '../../src/clock.ts';
import type { EnvironmentVariables } from '../../src/config/reader.ts';
import { closeLater } from './close-later.ts';
import { emulate } from './emulate.ts';
import { listenOn } from './free-port.ts';
import { createManualClock, type ManualClock } from './manual-clock.ts';
import { redisOfTest, type RedisServer } from './redis-server.ts';
import { advanceOnceIdle, startLoadedRig, type Rig, type RigOptions } from './rig.ts';
import { waitUntil } from './wait-until.ts';
import { temporaryFolder } from './temporary-folder.ts';

// Replicas that share a real Redis and an emulator, on clocks that the test moves.

export let redis: RedisServer;
export let provider: Emulator;
export let clock: ManualClock;

export const envOf = (env: EnvironmentVariables = {}): EnvironmentVariables => ({
  CACHE_REDIS_URL: redis.url,
  ...env,
});
/** What a replica is opened with. Unless `options` say otherwise, its clock is that of Redis. */
export const optionsOf = ({ env, ...options }: RigOptions = {}): RigOptions => ({
  provider,
  clock,
  storeClock: clock,
  ...options,
  env: envOf(env),
});
export const start = (options?: RigOptions): Promise<Rig> => startLoadedRig(optionsOf(options));
export const countIn = (rig: Rig): number | undefined => rig.service.list.status().cached?.count;
export const snapshot = (): string => join(temporaryFolder(), 'list');
/** What the names of all values in Redis begin with; nothing where there is no list. */
export const namesFound = async (): Promise<readonly string[]> =>
  (await redis.command('KEYS banks-bff:2:*')).match(/banks-bff:\S+(?=:list)/) ?? [];
/** The same; there must be a list. */
export const namesOfValues = async (): Promise<string> => {
  const [names] = await namesFound();
  if (names === undefined) throw new Error('Redis has no list');
  return names;
};
/** Until somebody has written a list to a Redis without one. */
export const writtenAgain = (): Promise<unknown> =>
  waitUntil('a list in Redis', namesFound, (found) => found.length > 0);
/** A clock whose wall time differs from that of Redis. */
export const wrongBy = (ms: number): ManualClock => ({
  ...clock,
  wallMs: () => wall(clock.wallMs() + ms),
});

/** An address of Redis that can be cut off. */
export const connectionToCut = async () => {
  const sockets = new Set<Socket>();
  let isCut = false;
  let received = 0;
  /** What the replica has sent since it is held back. */
  let heldBack: [Socket, Buffer][] | undefined;
  /** It is held back from the `nth` bytes on that contain `text`. */
  let holdFrom: { text: string; nth: number } | undefined;
  const front = createServer((client) => {
    const server = connect(redis.port, '127.0.0.1');
    for (const socket of [client, server]) sockets.add(socket.on('error', () => undefined));
    if (isCut) client.destroy();
    client.on('data', (bytes) => {
      if (holdFrom && bytes.includes(holdFrom.text)) {
        holdFrom.nth -= 1;
        if (holdFrom.nth === 0) heldBack ??= [];
      }
      if (heldBack) heldBack.push([server, Buffer.from(bytes)]);
      else server.write(bytes);
    });
    client.on('close', () => server.destroy());
    server.on('data', ({ length }) => (received += length));
    server.pipe(client);
  });
  const cut = (): void => {
    isCut = true;
    for (const socket of sockets) socket.destroy();
  };
  const url = `redis://127.0.0.1:${await listenOn(front)}`;
  closeLater(() => front.close(), cut);
  return {
    url,
    cut,
    mend: () => (isCut = false),
    hold: () => (heldBack = []),
    holdFrom: (text: string, nth = 1) => (holdFrom = { text, nth }),
    /** The bytes that Redis has sent. */
    received: (): number => received,
    isHolding: (): boolean => heldBack !== undefined && heldBack.length > 0,
    release: (): void => {
      for (const [server, bytes] of heldBack ?? []) server.write(bytes);
      heldBack = undefined;
      holdFrom = undefined;
    },
  };
};

/** Call it inside a describe: each of its tests begins with an empty Redis and no replica. */
export const beginAnew = (): void =>
  beforeEach(async () => {
    redis = await redisOfTest();
    provider = await emulate();
    clock = createManualClock();
  });

/** Moves time on, as fast as these replicas look at Redis in between, and at the end. */
export const pass = async (seconds: number, ...rigs: readonly [Rig, ...Rig[]]): Promise<void> => {
  for (let passed = 0; passed < seconds; passed += 1) await advanceOnceIdle(1_000, ...rigs);
  await advanceOnceIdle(0, ...rigs);
};
