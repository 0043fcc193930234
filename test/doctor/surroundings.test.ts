import { describe, expect, test } from '@jest/globals';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Behaviour } from '../../emulator/behaviours.ts';
import { snapshot } from '../../src/commands/snapshot.ts';
import type { EnvironmentVariables } from '../../src/config/variables.ts';
import { createAuthority } from '../helpers/authority.ts';
import { emulate } from '../helpers/emulate.ts';
import { findFreePort } from '../helpers/free-port.ts';
import { runService } from '../helpers/process.ts';
import { describeWithRedis, redisOfTest } from '../helpers/redis-server.ts';
import { startLoadedRig, startRig } from '../helpers/rig.ts';
import { runCommand } from '../helpers/run-command.ts';
import { expectFailure, runDoctor, type DoctorReport } from '../helpers/run-doctor.ts';
import { SANDBOX } from '../helpers/sandbox.ts';
import { serve } from '../helpers/serve.ts';
import { temporaryFile, temporaryFolder } from '../helpers/temporary-folder.ts';
import { startTlsFront } from '../helpers/tls-front.ts';
import { waitUntil } from '../helpers/wait-until.ts';

// The doctor about what the service uses besides the provider: stores and ports. The list can be
// served in each of these tests, unless a saved one says otherwise.

const doctor = async (env: EnvironmentVariables): Promise<DoctorReport> =>
  runDoctor({ PROVIDER_SANDBOX_BASE_URL: (await emulate()).baseUrl, ...env });

describe('the snapshot file', () => {
  const at = (path: string) => doctor({ CACHE_SNAPSHOT_FILE: path });

  test('that does not exist yet, or is empty, can be written, and stays as it is', async () => {
    const folder = temporaryFolder();
    const path = join(folder, 'list');
    expect((await at(path)).linesOf('snapshot')).toBe('ok    snapshot       can be written');
    expect(readdirSync(folder)).toEqual([]);
    writeFileSync(path, '');
    expect((await at(path)).status).toBe(0);
    expect(readdirSync(folder)).toEqual(['list']);
  });

  test.each<[Behaviour, says: RegExp, status: number]>([
    ['healthy', /^ok .* 120 banks, .*; compared with the saved list of 120$/, 0],
    ['few', /^FAIL .* the list shrank from 120 to 3 entries[^]*POST \/refresh\?accept=shrunk/, 1],
    ['retyped-field', /^FAIL [^]*changed: code: [^]*POST \/refresh\?accept=drifted/, 1],
  ])(
    'has a list, with which that of a provider that does %s is compared, as the service does',
    async (behaviour, says, status) => {
      const emulator = await emulate();
      const path = join(temporaryFolder(), 'list');
      const env = { ...SANDBOX, PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl };
      expect(await runCommand((context) => snapshot(path, context), env)).toMatchObject({
        status: 0,
      });
      const saved = readFileSync(path);
      const { ino } = statSync(path);
      await emulator.behave(behaviour);
      const report = await runDoctor({ ...env, CACHE_SNAPSHOT_FILE: path });
      expect(report.linesOf('list')).toMatch(says);
      expect(report.status).toBe(status);
      expect(readFileSync(path)).toEqual(saved);
      // It is not replaced, which would give it to the doctor's user.
      expect(statSync(path).ino).toBe(ino);
      // Another configuration has other lists.
      const other = await runDoctor({ ...env, CACHE_SNAPSHOT_FILE: path, BANK_FIELDS: 'code' });
      expect(other.linesOf('snapshot')).toMatch(
        /^note .*saved with another configuration; ignored/,
      );
      expect(other.linesOf('list')).not.toContain('compared');
    },
  );

  test('that cannot be written, a directory and a foreign file are failures', async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'directory'));
    writeFileSync(join(folder, 'notes.txt'), 'mine');
    for (const name of ['missing/list', 'directory', 'notes.txt']) {
      const { status, text } = await at(join(folder, name));
      expect([status, text]).toEqual([1, expect.stringMatching(/^FAIL [^]*CACHE_SNAPSHOT_FILE/m)]);
    }
    expect(readFileSync(join(folder, 'notes.txt'), 'utf8')).toBe('mine');
    // Nobody can create files there, root included.
    expectFailure(await at('/sys/list'), [
      'snapshot',
      /cannot be written \(\w+\); let this user write to the directory \/sys/,
      'CACHE_SNAPSHOT_FILE',
    ]);
  });
});

// Only root on Linux may mount.
const canMount = process.platform === 'linux' && process.getuid?.() === 0;
(canMount ? describe : describe.skip)('where a file is mounted', () => {
  /** The output of the doctor that sees `file` at `path`. */
  const doctorWith = async (
    file: string,
    path: string,
    env: EnvironmentVariables,
  ): Promise<string> => {
    const main = join(import.meta.dirname, '../../dist/src/main.js');
    const script = 'mount --bind "$1" "$2"; "$3" "$4" doctor || true';
    const { stdout } = await promisify(execFile)(
      'unshare',
      ['--mount', 'sh', '-c', script, 'sh', file, path, process.execPath, main],
      { cwd: temporaryFolder(), env: { ...SANDBOX, ...env } },
    );
    return stdout;
  };

  test('a snapshot file is a failure, because it can never be replaced', async () => {
    const path = temporaryFile('');
    const report = await doctorWith(path, path, {
      PROVIDER_SANDBOX_BASE_URL: (await emulate()).baseUrl,
      CACHE_SNAPSHOT_FILE: path,
    });
    expect(report).toMatch(/^FAIL +snapshot .*mounted by itself.*; mount its directory instead$/m);
  });

  test('a host name that only this machine knows leads to this service, which is running', async () => {
    const hosts = temporaryFile('127.0.0.1 localhost banks.internal\n');
    const rig = await startRig();
    const report = await doctorWith(hosts, '/etc/hosts', {
      PROVIDER_SANDBOX_BASE_URL: rig.emulator.baseUrl,
      MANAGEMENT_HOST: 'banks.internal',
      MANAGEMENT_PORT: new URL(rig.managementUrl).port,
    });
    expect(report).toMatch(/^ok +management .*used by this service, which is running$/m);
  });
});

describeWithRedis('Redis', () => {
  const SECRET = 'SECRET-password';
  /** All that is in Redis. */
  const VALUES = `local keys = redis.call('KEYS', '*') table.sort(keys) return redis.call('MGET', unpack(keys))`;
  const at = (url: string): Promise<DoctorReport> => doctor({ CACHE_REDIS_URL: url });
  const expectRefused = async (url: string, says: RegExp): Promise<void> =>
    expectFailure(await at(url), ['redis', says, 'CACHE_REDIS_URL']);

  test('that works is read and written, and stays as it is', async () => {
    const redis = await redisOfTest();
    const env = { CACHE_REDIS_URL: redis.url, PROVIDER_TIMEOUT: '1m' };
    const rig = await startLoadedRig({ env });
    const stored = () => redis.command(`EVAL "${VALUES}" 0`);
    const before = await stored();
    expect(before).toMatch(/^\*2\r\n/);
    const report = await doctor({ PROVIDER_SANDBOX_BASE_URL: rig.emulator.baseUrl, ...env });
    expect(report.linesOf('redis')).toMatch(/^ok +redis +read and written in \d+ ms$/);
    expect(report.linesOf('list')).toContain('compared with the saved list of 120');
    expect(report.status).toBe(0);
    expect(await stored()).toBe(before);
  });

  test('that has nothing yet is written, and has nothing afterwards', async () => {
    const redis = await redisOfTest();
    const file = temporaryFile(redis.url);
    expect((await doctor({ CACHE_REDIS_URL_FILE: file })).status).toBe(0);
    await waitUntil(
      'an empty Redis',
      () => redis.command('DBSIZE'),
      (reply) => reply === ':0\r\n',
    );
    expect(await redis.command('CLIENT LIST')).not.toContain('name=banks-bff');
    await redis.kill();
    expectFailure(await doctor({ CACHE_REDIS_URL_FILE: file }), [
      'redis',
      /\(ECONNREFUSED\)/,
      'CACHE_REDIS_URL_FILE',
    ]);
  });

  test('that is not there, hangs or is something else is a failure', async () => {
    await expectRefused(
      `redis://user:${SECRET}@127.0.0.1:${await findFreePort()}`,
      /refuses the connection \(ECONNREFUSED\)/,
    );
    const redis = await redisOfTest();
    redis.stall();
    await expectRefused(redis.url, /does not answer in time/);
    redis.resume();
    const { baseUrl } = await emulate();
    await expectRefused(baseUrl.replace('http:', 'redis:'), /^FAIL +redis +Redis \S/);
  });

  test('that refuses the user, a command or the list is a failure that says so', async () => {
    const redis = await redisOfTest('--requirepass', SECRET);
    const as = (user: string) => `redis://${user}127.0.0.1:${redis.port}`;
    await expectRefused(as(''), /\(NOAUTH\)/);
    await expectRefused(as(':wrong@'), /refuses the user or the password \(WRONGPASS\)/);
    const allow = (rules: string) =>
      redis.command(`AUTH ${SECRET}\r\nACL SETUSER weak reset on >${SECRET} ~banks-bff:* ${rules}`);
    for (const command of ['set', 'time', 'eval']) {
      await allow(`+@all -${command}`);
      await expectRefused(as(`weak:${SECRET}@`), /\(NOPERM\)/);
    }
    await allow('+eval +time +getrange +pttl +set +hello +client +cluster');
    expect((await at(as(`weak:${SECRET}@`))).status).toBe(0);
    const full = await redisOfTest('--maxmemory', '1');
    await expectRefused(full.url, /is full \(OOM\)/);
    const replica = ['--dir', temporaryFolder(), '--replicaof', '127.0.0.1', String(redis.port)];
    await expectRefused((await redisOfTest(...replica)).url, /is read-only \(READONLY\)/);
  });
});

test('the certificate of Redis is checked, also with NODE_TLS_REJECT_UNAUTHORIZED=0', async () => {
  const authority = createAuthority();
  const dates = { from: '20200101000000Z', until: '20210101000000Z' };
  const { baseUrl } = await emulate();
  const front = await startTlsFront({ to: baseUrl, pair: authority.issue('redis', dates) });
  const { exit, output } = runService(
    {
      PROVIDER_SANDBOX_BASE_URL: baseUrl,
      CACHE_REDIS_URL: `rediss://127.0.0.1:${front.port}`,
      PORT: '0',
      MANAGEMENT_PORT: 'off',
      NODE_EXTRA_CA_CERTS: authority.certFile,
      NODE_TLS_REJECT_UNAUTHORIZED: '0',
    },
    { programArgs: ['doctor'] },
  );
  expect(await exit).toBe(1);
  expect(output()).toMatch(/^FAIL +redis +.*\(CERT_HAS_EXPIRED\)/m);
});

describe('the ports', () => {
  test('that are free are fine; one that another program uses is a failure of its own variable', async () => {
    const other = createServer((_req, res) => void res.end('{"status":"pass","list":{}}'));
    const taken = String(await serve(other));
    const first = await doctor({ PORT: taken });
    expectFailure(first, ['port', new RegExp(`another program uses port ${taken}`), 'PORT']);
    expect(first.linesOf('management')).toMatch(/^ok .* can be used$/);
    const second = await doctor({ MANAGEMENT_PORT: taken });
    expectFailure(second, ['management', /\(EADDRINUSE\)/, 'MANAGEMENT_PORT']);
    const nowhere = await doctor({ HOST: '192.0.2.1' });
    expectFailure(nowhere, ['port', /192\.0\.2\.1 is not an address of this machine/, 'HOST']);
    expect((await doctor({ MANAGEMENT_PORT: 'off' })).linesOf('management')).toBe('');
  });

  test('that this service uses, which is running, are fine', async () => {
    const rig = await startRig();
    const [PORT, MANAGEMENT_PORT] = [rig.url, rig.managementUrl].map((url) => new URL(url).port);
    const { status, linesOf } = await doctor({ PORT, MANAGEMENT_PORT });
    expect(status).toBe(0);
    for (const port of ['port', 'management'])
      expect(linesOf(port)).toContain('used by this service, which is running');
  });
});
