import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SavedList } from '../../src/banks/cached-list.ts';
import { systemClock } from '../../src/clock.ts';
import { createEnvelope, type Envelope } from '../../src/sharing/envelope.ts';
import { StoreError, type ListStore, type SharedStore } from '../../src/sharing/list-store.ts';
import { createRedisStore } from '../../src/sharing/redis-store.ts';
import { createSnapshotFile } from '../../src/sharing/snapshot-file.ts';
import { createFleetStore, type FleetStore } from '../kit/fleet-store.ts';
import { EVERY_FIELD, readBanks } from '../kit/read-banks.ts';
import { describeWithRedis, startRedis, type RedisServer } from '../kit/redis-server.ts';
import { eventually } from '../kit/rig.ts';

// What every store promises, held against each of them: the file, a real Redis, and the one that fails on command.

const kept = async (banks: readonly unknown[], acceptedAtMs?: number): Promise<SavedList> => {
  const { json, count, profile, entryDigests } = await readBanks(banks);
  return { json, count, profile, entryDigests, receivedAtMs: 2, changedAtMs: 1, acceptedAtMs };
};
const BANKS = [{ code: '001', name: 'Ação "1"\n' }];
const LIST = await kept(BANKS);
const EMPTY = await kept([]);
const envelopeOf = (provenance: string): Envelope => createEnvelope({ provenance, contract: EVERY_FIELD });

interface Subject {
  readonly store: ListStore;
  breakDown(): Promise<void> | void;
}

const keepsItsPromises = (start: () => Promise<Subject> | Subject): void =>
  describe('as every store:', () => {
    let subject: Subject;
    beforeEach(async () => void (subject = await start()));

    test('it is empty at first', async () => {
      expect(await subject.store.read()).toBeUndefined();
    });

    test('it returns the last list that was written, byte for byte', async () => {
      await subject.store.write(EMPTY, 0);
      await subject.store.write(LIST, 0);
      expect((await subject.store.read())?.list).toMatchObject(LIST);
      await subject.store.write({ ...LIST, acceptedAtMs: 7 }, 0);
      expect((await subject.store.read())?.list).toMatchObject({ ...LIST, acceptedAtMs: 7 });
    });

    test('a failure is a StoreError', async () => {
      await subject.breakDown();
      await expect(subject.store.write(LIST, 0)).rejects.toThrow(StoreError);
      await expect(subject.store.read()).rejects.toThrow(StoreError);
    });
  });

describe('the snapshot file', () => {
  keepsItsPromises(() => {
    const directory = mkdtempSync(join(tmpdir(), 'banks-bff-'));
    let path = join(directory, 'snapshot');
    const store = (): ListStore => createSnapshotFile(path, envelopeOf('provenance'));
    return {
      store: {
        name: 'CACHE_SNAPSHOT_FILE',
        read: () => store().read(),
        write: (list, ageMs) => store().write(list, ageMs),
      },
      breakDown: () => void (path = directory),
    };
  });
});

const sharesALease = (open: () => readonly [SharedStore, SharedStore]): void => {
  test('one replica at a time has the lease, and only its owner can end it', async () => {
    const [one, two] = open();
    const ofOne = await one.claim(60_000);
    expect(ofOne).toBeDefined();
    expect(await two.claim(60_000)).toBeUndefined();
    await ofOne?.();
    const ofTwo = await two.claim(60_000);
    expect(ofTwo).toBeDefined();
    await ofOne?.();
    expect(await one.claim(60_000)).toBeUndefined();
  });
};

describe('the store that fails on command', () => {
  let fleet: FleetStore;
  beforeEach(() => void (fleet = createFleetStore(systemClock)));
  keepsItsPromises(() => ({ store: fleet.seenBy(0), breakDown: () => fleet.setFault(0, 'refuses') }));
  sharesALease(() => [fleet.seenBy(0), fleet.seenBy(1)]);
});

describeWithRedis('Redis', () => {
  let server: RedisServer;
  let stores: SharedStore[];
  let heard: string[];
  beforeEach(async () => {
    server = await startRedis();
    stores = [];
    heard = [];
  });
  afterEach(async () => {
    for (const store of stores) store.close();
    await server.kill();
  });
  const open = (who = 'one', provenance = 'provenance'): SharedStore => {
    const store = createRedisStore({
      url: () => Promise.resolve(server.url),
      provenance,
      envelope: envelopeOf(provenance),
      lifeMs: 60_000,
      clock: systemClock,
      random: () => 0.5,
      onEvent: () => undefined,
    });
    stores.push(store);
    store.open(() => heard.push(who));
    return store;
  };

  keepsItsPromises(() => ({ store: open(), breakDown: () => server.kill() }));
  sharesALease(() => [open('one'), open('two')]);

  test('a lease that is not released expires', async () => {
    const [one, two] = [open('one'), open('two')];
    await one.claim(50);
    let claims = 0;
    do claims += 1;
    while (!(await two.claim(50)));
    expect(claims).toBeGreaterThan(1);
  });

  test('the other replicas hear of a written list, its writer does not', async () => {
    const [one, two, another] = [open('one'), open('two'), open('another', 'other fields')];
    await eventually(() => heard.length === 3);
    heard.length = 0;
    await one.write(LIST, 0);
    await eventually(() => heard.length > 0);
    expect(heard).toEqual(['two']);
    expect((await two.read())?.list).toMatchObject(LIST);
    expect(await another.read()).toBeUndefined();
  });

  test('lists of other versions and with other fields do not affect each other', async () => {
    const [one, another] = [open('one'), open('another', 'other fields')];
    await one.write(LIST, 0);
    await another.write(EMPTY, 0);
    expect((await one.read())?.list).toMatchObject(LIST);
    expect(await server.command('KEYS *')).toMatch(/banks-bff:1:provenance:list/);
  });

  test.each([
    ['garbage', `SET banks-bff:1:provenance:list garbage`],
    ['another type', 'HSET banks-bff:1:provenance:list field value'],
  ])('%s under its key is a StoreError, and is overwritten', async (_name, command) => {
    const store = open();
    await store.read();
    await server.command(command);
    await expect(store.read()).rejects.toThrow('does not contain a saved list; ignored');
    await store.write(LIST, 0);
    expect((await store.read())?.list).toMatchObject(LIST);
  });
});
