import { expect, jest, test } from '@jest/globals';
import type { Emulator } from '../../emulator/emulator.ts';
import { BANKS, UNUSABLE, emulate } from '../helpers/emulate.ts';
import { startProcess, type ServiceProcess } from '../helpers/process.ts';
import { describeWithRedis, redisOfTest } from '../helpers/redis-server.ts';
import { waitUntil } from '../helpers/wait-until.ts';

// What an operator does on one replica, seen on every replica: the built service, as processes with
// a real Redis.

const TOKEN = 'operator-token-for-tests';
/** "Within seconds": at most 5 for a replica that gets no message, and more on a busy machine. */
const LIMIT_MS = 20_000;
// Four processes start one after the other, and each may take as long as that.
jest.setTimeout(4 * LIMIT_MS);

const listOf = async ({ url }: ServiceProcess) => {
  const response = await fetch(`${url}/banks`);
  const banks: unknown = await response.json();
  return { count: Array.isArray(banks) ? banks.length : 0, etag: response.headers.get('etag') };
};
const healthOf = async ({ managementUrl }: ServiceProcess): Promise<unknown> =>
  (await fetch(`${managementUrl}/healthz`)).json();
const refresh = async ({ managementUrl }: ServiceProcess, query = '', requestId = 'x') => {
  const response = await fetch(`${managementUrl}/refresh${query}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'x-request-id': requestId },
  });
  const outcome: unknown = await response.json();
  return { status: response.status, outcome };
};
/** The lines that begin with `text`, without what differs between replicas. */
const linesOf = ({ written }: ServiceProcess, text: string): unknown[] =>
  written()
    .split('\n')
    .flatMap((line) => {
      if (!line.includes(`"msg":"${text}`)) return [];
      const { time: _time, ...rest }: Record<string, unknown> = JSON.parse(line);
      return [rest];
    });

describeWithRedis('with a real Redis, on every replica', () => {
  const start = async (env = {}) => {
    const redis = await redisOfTest();
    const emulator = await emulate();
    const startReplica = () =>
      startProcess({
        PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl,
        CACHE_REDIS_URL: redis.url,
        MANAGEMENT_TOKEN: TOKEN,
        ...env,
      });
    const replicas = [await startReplica()];
    await everyReplicaServes(replicas, BANKS.length);
    replicas.push(await startReplica(), await startReplica());
    await everyReplicaServes(replicas, BANKS.length);
    return { emulator, replicas, startReplica };
  };
  const everyReplicaServes = async (replicas: readonly ServiceProcess[], count: number) => {
    for (const [index, replica] of replicas.entries()) {
      const awaited = `${count} banks on replica ${index}`;
      // oxlint-disable-next-line no-await-in-loop -- the slowest one counts
      await waitUntil(
        awaited,
        async () => (await listOf(replica)).count,
        (served) => served === count,
        LIMIT_MS,
      );
    }
    const lists = await Promise.all(replicas.map(listOf));
    expect(new Set(lists.map(({ etag }) => etag)).size).toBe(1);
  };
  const shrink = async (emulator: Emulator, one: ServiceProcess): Promise<void> => {
    await emulator.behave('shrunk');
    const { status, outcome } = await refresh(one);
    expect({ status, outcome }).toMatchObject({ status: 502, outcome: { kind: 'shrunk' } });
  };

  test('a forced refresh is served, with one call of the provider', async () => {
    const { emulator, replicas } = await start();
    expect(emulator.listCalls()).toBe(1);
    await emulator.behave('some-unusable');
    const [one] = replicas;
    if (!one) throw new Error('no replica');
    expect(await refresh(one)).toMatchObject({
      status: 200,
      outcome: { outcome: 'changed', count: BANKS.length - UNUSABLE, shared: true },
    });
    await everyReplicaServes(replicas, BANKS.length - UNUSABLE);
    expect(emulator.listCalls()).toBe(2);
  });

  test('an acceptance is served, logged once with its reason and request, and kept by renewals', async () => {
    const { emulator, replicas, startReplica } = await start({ CACHE_TTL: '1s' });
    const [one, two] = replicas;
    if (!one || !two) throw new Error('no replica');
    await shrink(emulator, one);
    expect(await refresh(two, '?accept=shrunk', 'ticket-7')).toMatchObject({ status: 200 });
    await everyReplicaServes(replicas, BANKS.length / 2);
    // Whichever of them makes the next loads, its guard accepts the list.
    const calls = emulator.listCalls();
    await waitUntil(
      'three renewals',
      () => emulator.listCalls(),
      (now) => now >= calls + 3,
    );
    await everyReplicaServes(replicas, BANKS.length / 2);
    for (const replica of replicas) {
      const [line, ...others] = linesOf(replica, 'list: accepted by an operator');
      expect(line).toMatchObject({
        severity: 'WARNING',
        reasons: ['shrunk'],
        requestId: 'ticket-7',
      });
      expect(others).toEqual([]);
      // With a TTL of a second, a busy machine may look while a list is being replaced.
      // oxlint-disable-next-line no-await-in-loop -- one replica after the other
      await waitUntil(
        'a fresh list, and health that says so',
        async () => JSON.stringify(await healthOf(replica)),
        (health) =>
          new RegExp(`"status":"pass".*"state":"fresh".*"count":${BANKS.length / 2}`).test(health),
        LIMIT_MS,
      );
    }
    // One that starts later replaces no list: it takes this one without a load.
    await emulator.behave('unavailable');
    const late = await startReplica();
    await everyReplicaServes([late], BANKS.length / 2);
    expect(late.written()).toContain('list: restored the saved list');
    expect(linesOf(late, 'list: accepted by an operator')).toEqual([]);
  });
});
