import type { Fault } from './fault.ts';

// Faults in src/sharing.

const FLEET = [
  'test/sharing/turns.test.ts',
  'test/sharing/redis-faults.test.ts',
  'test/sharing/fleet.test.ts',
];
const STORES = [
  'test/sharing/last-good-list.test.ts',
  'test/sharing/stores.test.ts',
  'test/sharing/redis-faults.test.ts',
];
const REDIS = [
  'test/sharing/redis-store.test.ts',
  'test/sharing/stores.test.ts',
  'test/sharing/redis-faults.test.ts',
];
const FILES = ['test/sharing/replace-file.test.ts', 'test/sharing/snapshot-file.test.ts'];

export const sharing: readonly Fault[] = [
  {
    file: 'src/sharing/fleet.ts',
    code: 'store.claim(loadTimeoutMs + WRITE_MS)',
    fault: 'store.claim(Math.max(WRITE_MS, loadTimeoutMs / 2))',
    effect: 'the lease ends during a slow load, and a second replica calls the provider',
    tests: FLEET,
  },
  {
    file: 'src/sharing/fleet.ts',
    code: 'store.claim(loadTimeoutMs + WRITE_MS)',
    fault: 'store.claim((loadTimeoutMs + WRITE_MS) * 1_000)',
    effect: 'a replica that was killed during its load holds the lease for hours',
    tests: FLEET,
  },
  {
    file: 'src/sharing/fleet.ts',
    code: 'track(lastGoodList.onSettled(store).then(lease))',
    fault: 'track(lease())',
    effect: 'the lease ends before the list is written, and another replica calls the provider too',
    tests: FLEET,
  },
  {
    file: 'src/sharing/fleet.ts',
    code: '        await lastGoodList.pull(store);\n        if',
    fault: '        if',
    effect: 'a replica that gets the lease late loads again what another has just loaded',
    tests: FLEET,
  },
  {
    file: 'src/sharing/fleet.ts',
    code: '    cancel();\n',
    fault: '',
    effect: 'each wait that a message ends leaves its timer behind',
    tests: FLEET,
  },
  {
    file: 'src/sharing/last-good-list.ts',
    code: 'content.receivedAtMs !== cached.receivedAtMs && cached.sentAtMs - content.sentAtMs >= OLDER_BY_MS',
    fault: 'cached.sentAtMs - content.sentAtMs >= -OLDER_BY_MS',
    effect: 'replicas with the same list write it and tell each other of it without end',
    tests: FLEET,
  },
  {
    file: 'src/sharing/fleet.ts',
    code: '.finally(() => (exchanging = undefined))',
    fault: '',
    effect: 'after the first message no other is ever read',
    tests: FLEET,
  },
  {
    file: 'src/sharing/last-good-list.ts',
    code: '.finally(() => (shelf.writing = undefined))',
    fault: '',
    effect: 'after the first list no other is ever saved',
    tests: STORES,
  },
  {
    file: 'src/sharing/last-good-list.ts',
    code: 'if (shelf.store === store) await read(shelf);\n      push();\n',
    fault: 'if (shelf.store === store) await read(shelf);\n',
    effect: 'a list from Redis never reaches the snapshot',
    tests: STORES,
  },
  {
    file: 'src/sharing/last-good-list.ts',
    code: 'store.write(saving, clock.monotonicMs() - saving.countedFromMs)',
    fault: 'store.write(saving, 0)',
    effect: 'a list that is passed on seems new to the other replicas',
    tests: STORES,
  },
  {
    file: 'src/sharing/last-good-list.ts',
    code: '      shelf.isUnreadable = false;\n',
    fault: '',
    effect:
      'once a store was unreadable, every read that works is told as a recovery, also while it cannot be written',
    tests: STORES,
  },
  {
    file: 'src/sharing/redis-store.ts',
    code: 'Math.round(lifeMs - ageMs)',
    fault: 'Math.round(lifeMs)',
    effect: 'the shared list expires late, and seems new to replicas that restore it',
    tests: REDIS,
  },
  {
    file: 'src/sharing/redis-client.ts',
    code: "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0",
    fault: "return redis.call('del', KEYS[1])",
    effect: 'a replica that was paused takes the lease away from its new owner',
    tests: REDIS,
  },
  {
    file: 'src/sharing/redis-store.ts',
    code: '      await redis.deleteIfEqual(keys.lease, ownId);\n',
    fault: '',
    effect: 'a claim whose answer was lost blocks every replica until it expires',
    tests: REDIS,
  },
  {
    file: 'src/sharing/redis-connection.ts',
    code: '      failedAttempts = 0;\n',
    fault: '',
    effect: 'after one long outage of Redis each later reconnection waits two seconds',
    tests: REDIS,
  },
  {
    file: 'src/sharing/redis-connection.ts',
    code: '    cancelTimer();\n    cancelTimer = clock.after(reconnect',
    fault: '    cancelTimer = clock.after(reconnect',
    effect: 'the ping of a lost connection is left behind, and soon there are two reconnections at once',
    tests: REDIS,
  },
  {
    file: 'src/sharing/redis-connection.ts',
    code: 'timeoutError: () => new DeadlineError(), signal: closing.signal }',
    fault: 'timeoutError: () => new DeadlineError() }',
    effect: 'a connection that is made while the service stops stays open',
    tests: REDIS,
  },
  {
    file: 'src/sharing/redis-connection.ts',
    code: '    redis.destroy();\n    throw error;',
    fault: '    throw error;',
    effect: 'each failed handshake leaves a connection open',
    tests: REDIS,
  },
  {
    file: 'src/sharing/redis-connection.ts',
    code: '    isReported = false;\n',
    fault: '',
    effect: 'only the first outage of Redis is reported',
    tests: REDIS,
  },
  {
    file: 'src/sharing/replace-file.ts',
    code: '    await rm(temporary, { force: true }).catch(() => undefined);\n',
    fault: '',
    effect: 'each write that fails leaves a temporary file behind, on a disk that may be full',
    tests: FILES,
  },
  {
    file: 'src/sharing/replace-file.ts',
    code: '      await file.sync();\n',
    fault: '',
    effect: 'after a power failure the snapshot may be empty',
    tests: FILES,
  },
  {
    file: 'src/sharing/fleet.ts',
    code: '      hasNews = false;\n      // oxlint-disable-next-line no-await-in-loop -- one at a time\n      await lastGoodList.pull(store);\n',
    fault:
      '      // oxlint-disable-next-line no-await-in-loop -- one at a time\n      await lastGoodList.pull(store);\n      hasNews = false;\n',
    effect: 'a message that arrives while the store is read is lost',
    tests: FLEET,
  },
  {
    file: 'src/sharing/fleet.ts',
    code: '      await deciding;\n      store.close();',
    fault: '      store.close();',
    effect: 'the connection is closed before a replica that stops has given back the lease',
    tests: FLEET,
  },
  {
    file: 'src/sharing/fleet.ts',
    code: 'if (clock.monotonicMs() >= untilMs) return isDue() ? ALONE : SPARED;',
    fault: 'if (clock.monotonicMs() >= untilMs) return SPARED;',
    effect: 'a replica never loads while another one holds the lease, however long it has waited',
    tests: FLEET,
  },
  {
    file: 'src/sharing/last-good-list.ts',
    code: 'while (shelf.next) {',
    fault: 'if (shelf.next) {',
    effect: 'a list that is loaded while the one before it is written is not saved',
    tests: STORES,
  },
  {
    file: 'src/sharing/redis-store.ts',
    code: '(opened.lifeMs ?? lifeMs) - leftMs',
    fault: 'lifeMs - leftMs',
    effect: 'the age of a list is wrong where the replica that wrote it has another CACHE_TTL',
    tests: REDIS,
  },
  {
    file: 'src/sharing/redis-connection.ts',
    code: '      schedulePing();\n    };',
    fault: '    };',
    effect: 'only the first ping is sent, and a dead connection is not noticed before the next renewal',
    tests: REDIS,
  },
  {
    file: 'src/sharing/redis-connection.ts',
    code: '    connected = undefined;\n    cancelTimer();\n',
    fault: '    cancelTimer();\n',
    effect: 'a connection that has failed stays in use until the next one is made',
    tests: REDIS,
  },
];
