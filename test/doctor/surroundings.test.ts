import { describe, expect, test } from '@jest/globals';
import { mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect, createServer as createProxy } from 'node:net';
import { join } from 'node:path';
import type { Emulator } from '../../emulator/emulator.ts';
import type { EnvironmentVariables } from '../../src/config/reader.ts';
import { createAuthority } from '../helpers/authority.ts';
import { closeLater } from '../helpers/close-later.ts';
import { emulate } from '../helpers/emulate.ts';
import { runDoctor, type DoctorReport } from '../helpers/run-doctor.ts';
import { findFreePort, listenOn } from '../helpers/free-port.ts';
import { describeWithRedis, redisOfTest } from '../helpers/redis-server.ts';
import { openRig, startRig } from '../helpers/rig.ts';
import { runService } from '../helpers/process.ts';
import { startTlsFront } from '../helpers/tls-front.ts';
import { eventually } from '../helpers/wait-until.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

// The doctor about what the service uses besides the provider: stores, ports and the clock.

const doctor = async (env: EnvironmentVariables, emulator?: Emulator): Promise<DoctorReport> =>
  runDoctor({ PROVIDER_SANDBOX_BASE_URL: (emulator ?? (await emulate())).baseUrl, ...env });

/**
 * The provider's list is fine, `step` is not: it has a cause and what to do, and the exit status
 * tells.
 */
const expectFailure = (
  { status, text, linesOf }: DoctorReport,
  step: string,
  message: RegExp,
  next: RegExp,
): void => {
  for (const words of [
    /^FAIL/,
    message,
    /^ {6}likely +\S/m,
    new RegExp(`^ {6}next .*${next.source}`, 'm'),
  ])
    expect(linesOf(step)).toMatch(words);
  expect(text).toContain(`But not all of it works: ${step}.`);
  expect(status).toBe(1);
};

const folder = (): string => temporaryFolder();

describe('the snapshot file', () => {
  const at = (path: string) => doctor({ CACHE_SNAPSHOT_FILE: path });

  test('that does not exist yet, is empty or is ours is fine, and stays as it is', async () => {
    const path = join(folder(), 'list');
    expect((await at(path)).linesOf('snapshot')).toMatch(/^ok .* can be written/);
    expect(readdirSync(join(path, '..'))).toEqual([]);
    writeFileSync(path, '');
    expect((await at(path)).status).toBe(0);

    const rig = await openRig({ env: { CACHE_SNAPSHOT_FILE: path } });
    await eventually(() => rig.service.list.status().nextLoadInMs > 0);
    await rig.close();
    const saved = readFileSync(path);
    expect(saved).not.toHaveLength(0);
    const { status, linesOf } = await at(path);
    expect(status).toBe(0);
    expect(linesOf('snapshot')).toMatch(/^ok /);
    expect(readFileSync(path)).toEqual(saved);
    expect(readdirSync(join(path, '..'))).toEqual(['list']);
  });

  test('whose directory is missing or cannot be written, a directory and a foreign file are failures', async () => {
    const inside = folder();
    mkdirSync(join(inside, 'directory'));
    writeFileSync(join(inside, 'notes.txt'), 'mine');
    for (const name of ['missing/list', 'directory', 'notes.txt']) {
      const { status, text } = await at(join(inside, name));
      expect([status, text]).toEqual([
        1,
        expect.stringMatching(/^FAIL +configuration +CACHE_SNAPSHOT_FILE: /),
      ]);
    }
    expect(readFileSync(join(inside, 'notes.txt'), 'utf8')).toBe('mine');
    // Nobody can create files there, root included.
    symlinkSync('/sys/list', join(inside, 'link'));
    for (const path of ['/sys/list', join(inside, 'link')])
      expectFailure(await at(path), 'snapshot', /cannot be written/, /\S/);
  });
});

test.each([
  ['that has expired', '20210101000000Z', '127.0.0.1', 'CERT_HAS_EXPIRED', /has expired/],
  [
    'for another name',
    '20990101000000Z',
    '127.0.0.2',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    /is for another name than 127\.0\.0\.2/,
  ],
])(
  'a Redis whose certificate is one %s is not taken for something else',
  async (_what, until, host, code, likely) => {
    const authority = createAuthority();
    const pair = authority.issue('redis', { from: '20200101000000Z', until });
    const { baseUrl } = await emulate();
    const front = await startTlsFront({ to: baseUrl, pair, host });
    closeLater(() => front.close());
    const { exit, output } = runService(
      {
        PROVIDER_SANDBOX_BASE_URL: baseUrl,
        CACHE_REDIS_URL: `rediss://${host}:${front.port}`,
        PORT: '0',
        MANAGEMENT_PORT: 'off',
        NODE_EXTRA_CA_CERTS: authority.certFile,
      },
      { programArgs: ['doctor'] },
    );
    expect(await exit).toBe(1);
    expect(output()).toMatch(
      new RegExp(
        `^FAIL +redis +connecting and logging in fails \\(${code}\\)\n +likely .*${likely.source}`,
        'm',
      ),
    );
  },
);

describeWithRedis('Redis', () => {
  const SECRET = 'SECRET-password';
  const at = (url: string): Promise<DoctorReport> => doctor({ CACHE_REDIS_URL: url });

  test('that works is passed in every respect, and nothing of it is left behind', async () => {
    const redis = await redisOfTest();
    const { status, linesOf } = await at(redis.url);
    expect(status).toBe(0);
    expect(linesOf('redis')).toMatch(/^ok .* logged in; read, wrote and heard a message/);
    const keys = await redis.command('KEYS *');
    const [key] = /banks-bff:doctor:\S+/.exec(keys) ?? [];
    expect(keys).toMatch(/^\*1\r\n/);
    // Redis deletes it in a few seconds.
    const leftMs = Number((await redis.command(`PTTL ${key}`)).slice(1));
    expect(leftMs).toBeGreaterThan(0);
    expect(leftMs).toBeLessThanOrEqual(5_000);
    expect(await redis.command('CLIENT LIST')).not.toContain('name=banks-bff');
  });

  test('that is not there, hangs, or is something else is a failure', async () => {
    const nowhere = `redis://user:${SECRET}@127.0.0.1:${await findFreePort()}`;
    expectFailure(
      await at(nowhere),
      'redis',
      /connecting .*\(ECONNREFUSED\)/,
      /check host and port/,
    );
    const file = join(folder(), 'address');
    writeFileSync(file, `https://${SECRET}\n`);
    const noAddress = await doctor({ CACHE_REDIS_URL_FILE: file });
    expectFailure(noAddress, 'redis', /\(no address\)/, /write the address/);
    const redis = await redisOfTest();
    redis.stall();
    expectFailure(
      await at(redis.url),
      'redis',
      /connecting .*\(TIMEOUT\)/,
      /ask your network team/,
    );
    redis.resume();
    const { baseUrl } = await emulate();
    const somethingElse = await at(baseUrl.replace('http:', 'redis:'));
    expectFailure(somethingElse, 'redis', /connecting/, /check CACHE_REDIS_URL/);
  });

  test('that refuses the user, a read, a write or a message is a failure that says which', async () => {
    const redis = await redisOfTest('--requirepass', SECRET);
    const as = (user: string) => `redis://${user}127.0.0.1:${redis.port}`;
    expectFailure(await at(as('')), 'redis', /\(NOAUTH\)/, /write both into/);
    expectFailure(
      await at(as(':wrong@')),
      'redis',
      /logging in fails \(WRONGPASS\)/,
      /write both into/,
    );
    const allow = (rules: string) =>
      redis.command(
        `AUTH ${SECRET}\r\nACL SETUSER weak reset on >${SECRET} ~banks-bff:* &banks-bff:* ${rules}`,
      );
    const weak = as(`weak:${SECRET}@`);
    await allow('+@all -set');
    expectFailure(await at(weak), 'redis', /writing fails \(NOPERM\)/, /~banks-bff:\*/);
    await allow('+@all -time');
    expectFailure(await at(weak), 'redis', /reading fails \(NOPERM\)/, /allow it/);
    await allow('+@all -publish');
    expectFailure(await at(weak), 'redis', /sending a message fails \(NOPERM\)/, /allow it/);
    await allow('+@read +@write +@scripting +@pubsub +@connection +time');
    expect((await at(weak)).status).toBe(0);
    const connections = await redis.command(`AUTH ${SECRET}\r\nCLIENT LIST`);
    expect(connections).not.toContain('name=banks-bff');
  });

  test('without TLS, or with it, where the address says the opposite, is named as that', async () => {
    const redis = await redisOfTest('--requirepass', SECRET);
    const commands = async () => redis.command(`AUTH ${SECRET}\r\nINFO commandstats`);
    expectFailure(
      await at(`rediss://:${SECRET}@127.0.0.1:${redis.port}`),
      'redis',
      /\(TIMEOUT\)\n +likely +127\.0\.0\.1:\d+ is Redis without TLS/,
      /begin it with redis:/,
    );
    // No password was sent in plain text.
    expect(await commands()).not.toMatch(/cmdstat_hello/);
    const authority = createAuthority();
    for (const clientAuthority of [undefined, authority.cert]) {
      const front = await startTlsFront({
        to: redis.url.replace('redis:', 'http:'),
        pair: authority.issue('redis'),
        ...(clientAuthority !== undefined && { clientAuthority }),
      });
      closeLater(() => front.close());
      expectFailure(
        await at(`redis://:${SECRET}@127.0.0.1:${front.port}`),
        'redis',
        /likely +127\.0\.0\.1:\d+ wants TLS/,
        /begin CACHE_REDIS_URL with rediss:/,
      );
    }
  });

  test('without the database that the address names is named as that, and with it fine', async () => {
    const redis = await redisOfTest('--requirepass', SECRET);
    const cluster = await redisOfTest('--cluster-enabled', 'yes', '--dir', folder());
    for (const url of [`redis://:${SECRET}@127.0.0.1:${redis.port}/16`, `${cluster.url}/1`])
      expectFailure(
        await at(url),
        'redis',
        /logging in fails \(ERR\)\n +likely +Redis has no database with the number/,
        /leave the number out, or write a smaller one/,
      );
    expect((await at(`redis://:${SECRET}@127.0.0.1:${redis.port}/15`)).status).toBe(0);
  });

  test('from which no message arrives, as through some proxies, is a failure', async () => {
    const redis = await redisOfTest();
    const message = />3\r\n\$7\r\nmessage\r\n(?:\$\d+\r\n[^\r]*\r\n){2}/;
    let left = 0;
    const proxy = createProxy((client) => {
      const server = connect(redis.port, '127.0.0.1');
      for (const end of [client, server]) end.on('error', () => undefined);
      client.pipe(server).on('data', (bytes: Buffer) => {
        const text = bytes.toString('latin1');
        if (message.test(text)) left += 1;
        client.write(text.replace(message, ''), 'latin1');
      });
    });
    closeLater(() => proxy.close());
    const report = await at(`redis://127.0.0.1:${await listenOn(proxy)}`);
    expectFailure(report, 'redis', /sending a message fails \(TIMEOUT\)/, /ask your network team/);
    expect(left).toBe(1);
  });

  test('that is read-only or full is a failure', async () => {
    const primary = await redisOfTest();
    // It writes what it gets from the primary to a file.
    const replica = await redisOfTest(
      '--dir',
      folder(),
      '--replicaof',
      '127.0.0.1',
      String(primary.port),
    );
    expectFailure(await at(replica.url), 'redis', /writing fails \(READONLY\)/, /primary/);
    const full = await redisOfTest('--maxmemory', '1');
    expectFailure(await at(full.url), 'redis', /writing fails \(OOM\)/, /memory/);
  });
});

describe('the ports', () => {
  test('that are free are fine; one that another program uses is a failure of its own variable', async () => {
    const nearlyOurs = ['{"status":"pass","list":{}}', '{"environment":"test"}'];
    const other = createServer((_req, res) => void res.end(nearlyOurs.shift()));
    closeLater(() => other.close());
    const taken = String(await listenOn(other));
    const env = { HOST: '127.0.0.1' };
    const first = await doctor({ ...env, PORT: taken });
    expectFailure(first, 'port', new RegExp(`${taken} .*\\(EADDRINUSE\\)`), /set PORT to another/);
    expect(first.linesOf('management')).toMatch(/^ok .* can be used/);
    const second = await doctor({ ...env, MANAGEMENT_PORT: taken });
    expectFailure(second, 'management', /\(EADDRINUSE\)/, /set MANAGEMENT_PORT to another/);
    expectFailure(
      await doctor({ HOST: '192.0.2.1' }),
      'port',
      /192\.0\.2\.1/,
      /set HOST to one that is/,
    );
    expect((await doctor({ MANAGEMENT_PORT: 'off' })).linesOf('management')).toBe('');
  });

  test('that the same service uses, which is running, are fine', async () => {
    const rig = await startRig();
    const [PORT, MANAGEMENT_PORT] = [rig.url, rig.managementUrl].map((url) => new URL(url).port);
    const { status, linesOf } = await doctor({ HOST: '127.0.0.1', PORT, MANAGEMENT_PORT });
    expect(status).toBe(0);
    expect(linesOf('port')).toContain('used by this service, which is running');
    expect(linesOf('management')).toContain('used by this service, which is running');
  });
});

test('a clock that differs from the provider’s is noted, with the direction', async () => {
  const emulator = await emulate();
  const list = JSON.stringify([{ code: '1', ispb: '2', name: '3' }]);
  let headers: Record<string, string> = {};
  emulator.respondWith((_req, res) => {
    res.writeHead(200, { 'content-type': 'application/json', ...headers }).end(list);
  });
  const at = (ms: number): string => new Date(Date.now() + ms).toUTCString();
  const clock = async (): Promise<string> => (await doctor({}, emulator)).linesOf('clock');
  expect(await clock()).toBe("ok    clock          agrees with the provider's");
  headers = { date: at(-120_000) };
  expect(await clock()).toMatch(
    /^note {2}clock +1[12]\d s ahead of the provider's\n {6}next +synchronise/,
  );
  headers = { date: at(120_000) };
  expect(await clock()).toMatch(/^note {2}clock +1[12]\d s behind the provider's/);
  headers = { date: at(-120_000), age: '120' };
  expect(await clock()).toMatch(/^ok/);
});

test.each(['CACHE_SIGNING_KEY_FILE', 'MANAGEMENT_TOKEN_FILE'])(
  'a file of %s that cannot be used is a failure, though no step needs it',
  async (variable) => {
    const file = join(folder(), 'secret');
    const report = await doctor({ [variable]: file });
    expect(report.linesOf('files')).toMatch(
      new RegExp(`^FAIL +files +${variable}: cannot be read \\(ENOENT\\)`),
    );
    expect(report.text).toContain('But not all of it works: files.');
    expect(report.status).toBe(1);
    writeFileSync(file, 'a-secret-of-more-than-thirty-two-characters\n');
    expect((await doctor({ [variable]: file })).status).toBe(0);
  },
);
