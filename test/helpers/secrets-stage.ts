import { expect } from '@jest/globals';
import { chmodSync, existsSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import supertest from 'supertest';
import { createAuthority } from './authority.ts';
import { closeLater } from './close-later.ts';
import { emulate } from './emulate.ts';
import { LISTENING, runService } from './process.ts';
import type { Program } from './program.ts';
import { redisOfTest } from './redis-server.ts';
import { startTlsFront } from './tls-front.ts';
import { waitUntil } from './wait-until.ts';
import { temporaryFolder } from './temporary-folder.ts';

// The built service in production with every secret in a file: what happens when all of them are
// spoiled in one way, and at a restart without and with a saved list.

const serverAuthority = createAuthority();
const serverPair = serverAuthority.issue('localhost');
const clientAuthorities = { old: createAuthority('old'), new: createAuthority('new') };
const clientPairs = {
  old: clientAuthorities.old.issue('old client'),
  new: clientAuthorities.new.issue('new client'),
};
/** Before and after the rotation. */
export type Age = keyof typeof clientPairs;
const secret = (what: string, age: Age): string => `${age}-${what}-of-more-than-32-characters`;

/** In every text that spoils a file: it must not be repeated anywhere. */
const MARK = 'SPOILED';
export const ANY_SECRET = /SPOILED|of-more-than-32/;

interface SpoiledFile {
  /** Makes what is at `path`, where nothing is yet. */
  readonly make: (path: string) => unknown;
  /** What is said of it: of a file that is not in the table, `rest`. */
  readonly said: Readonly<Record<string, string>> & { readonly rest: string };
}
const NO_PEM = {
  PROVIDER_TLS_CA_FILE: 'contains no certificate in PEM',
  PROVIDER_TLS_CERT_FILE: 'contains no certificate in PEM',
  PROVIDER_TLS_KEY_FILE: 'contains no private key in PEM',
};
const NO_ADDRESS = { CACHE_REDIS_URL_FILE: 'is not a Redis address' };
export const SPOILED = {
  empty: {
    make: (path) => writeFileSync(path, '\n'),
    said: { ...NO_PEM, rest: 'is empty' },
  },
  short: {
    make: (path) => writeFileSync(path, 'sPoIl'),
    said: { ...NO_PEM, ...NO_ADDRESS, rest: 'has fewer than' },
  },
  'of two lines': {
    make: (path) => writeFileSync(path, `${MARK}-line-1-of-2\n${MARK}-line-2-of-2\n`),
    said: { ...NO_PEM, ...NO_ADDRESS, rest: 'has more than one line' },
  },
  folders: {
    make: (path) => mkdirSync(path),
    said: { rest: 'cannot be read (not a regular file)' },
  },
  'without permission': {
    make: (path) => writeFileSync(path, `${MARK}-0123456789`, { mode: 0o000 }),
    said: { rest: 'cannot be read (EACCES)' },
  },
  gone: { make: () => undefined, said: { rest: 'cannot be read (ENOENT)' } },
  'dangling links': {
    make: (path) => symlinkSync('nowhere', path),
    said: { rest: 'cannot be read (ENOENT)' },
  },
} satisfies Record<string, SpoiledFile>;
/** Root may read every file, so the service runs as somebody else. */
const uid = process.getuid?.() === 0 ? 65_534 : undefined;

/** The variables of which one grants access to the list, and what their files hold. */
const ACCESS = {
  PROVIDER_ACCESS_TOKEN_FILE: 'token',
  PROVIDER_CLIENT_SECRET_FILE: 'client',
} as const;
export type Way = keyof typeof ACCESS;
export const WAYS = ['PROVIDER_ACCESS_TOKEN_FILE', 'PROVIDER_CLIENT_SECRET_FILE'] as const;

export const openStage = async (way: Way) => {
  const folder = temporaryFolder('banks-rotation-');
  chmodSync(folder, 0o777);
  const redis = await redisOfTest();
  const emulator = await emulate();
  const front = await startTlsFront({
    to: emulator.baseUrl,
    pair: serverPair,
    clientAuthority: clientAuthorities.old.cert,
  });
  closeLater(() => front.close());

  const contents = (age: Age): Record<string, string> => ({
    [way]: secret(ACCESS[way], age),
    PROVIDER_TLS_CA_FILE: serverAuthority.cert,
    PROVIDER_TLS_CERT_FILE: clientPairs[age].cert,
    PROVIDER_TLS_KEY_FILE: clientPairs[age].key,
    MANAGEMENT_TOKEN_FILE: secret('management', age),
    CACHE_REDIS_URL_FILE: `redis://bff:${secret('redis', age)}@127.0.0.1:${redis.port}`,
    CACHE_SIGNING_KEY_FILE: secret('signing', age),
  });
  const variables = Object.keys(contents('old'));
  let mounts = 0;
  return {
    redis,
    emulator,
    front,
    variables,
    snapshot: join(folder, 'snapshot'),
    /**
     * Mounts the files as Kubernetes does, by a link that is replaced: those in `kept` with the
     * secrets of `age`, the others spoiled.
     */
    mount: (age: Age, kept: readonly string[], spoil?: SpoiledFile['make']): void => {
      mounts += 1;
      const target = join(folder, `mount-${mounts}`);
      mkdirSync(target);
      for (const name of variables) {
        if (kept.includes(name)) writeFileSync(join(target, name), contents(age)[name] ?? '');
        else spoil?.(join(target, name));
      }
      symlinkSync(target, join(folder, 'next'));
      renameSync(join(folder, 'next'), join(folder, 'mounted'));
    },
    /** What is accepted from now on. */
    accept: async (...ages: readonly Age[]): Promise<void> => {
      emulator.acceptTokens(ages.map((age) => secret('token', age)));
      emulator.acceptSecrets(ages.map((age) => secret('client', age)));
      emulator.revokeIssued();
      front.requireClientOf(ages.map((age) => clientAuthorities[age].cert).join(''));
      const passwords = ages.map((age) => `>${secret('redis', age)}`).join(' ');
      await redis.command(`ACL SETUSER bff reset on ${passwords} ~* &* +@all`);
      if (ages.length === 1) await redis.command('CLIENT KILL USER bff');
    },
    start: (): Program =>
      runService(
        {
          ...Object.fromEntries(variables.map((name) => [name, join(folder, 'mounted', name)])),
          PROVIDER_ENVIRONMENT: 'production',
          PROVIDER_PRODUCTION_BASE_URL: front.url,
          PROVIDER_ACCESS_TOKEN: '',
          ...(way === 'PROVIDER_CLIENT_SECRET_FILE' && {
            PROVIDER_TOKEN_URL: `${front.url}/oauth/token`,
            PROVIDER_CLIENT_ID: 'emulator-client',
          }),
          CACHE_TTL: '500ms',
          CACHE_SNAPSHOT_FILE: join(folder, 'snapshot'),
          SHUTDOWN_GRACE: '100ms',
        },
        { uid, cwd: folder },
      ),
  };
};
type Stage = Awaited<ReturnType<typeof openStage>>;

interface Answer {
  readonly status: number;
  readonly detail: string;
  readonly secretFiles: Readonly<Record<string, { readonly contentSince: string }>>;
}

interface Health {
  readonly status: string;
  readonly list: { readonly failingSince: string | null };
  readonly secretFiles: Readonly<Record<string, { readonly usable: boolean }>>;
}

/** What an operator sees of a service that listens. */
export const observe = async (service: Program, { emulator, front, redis }: Stage) => {
  const [, url = '', managementUrl = ''] = await service.says(LISTENING);
  const health = async (): Promise<Health> => (await supertest(managementUrl).get('/healthz')).body;
  return {
    health,
    text: async (path: string) => (await supertest(managementUrl).get(path)).text,
    banks: async () => (await supertest(url).get('/banks')).status,
    refresh: async (age: Age): Promise<Answer> => {
      const { status, body } = await supertest(managementUrl)
        .post('/refresh')
        .set('Authorization', `Bearer ${secret('management', age)}`);
      return { ...body, status };
    },
    /** Waits for a renewal of the list that begins from now on. @returns with what it was made */
    renewal: async () => {
      const calls = emulator.listCalls();
      const isRenewed = (count: number): boolean => count > calls + 1;
      await waitUntil('a renewal', () => emulator.listCalls(), isRenewed);
      const { list } = await health();
      const isShared = (await redis.command('CLIENT LIST')).includes('user=bff');
      const { failingSince } = list;
      return { failingSince, client: front.clients.at(-1), isShared };
    },
  };
};

/** The variables of which each is reported as unusable in every place, and those that are not. */
const reported = async (
  service: Program,
  { health, text }: Awaited<ReturnType<typeof observe>>,
  said: SpoiledFile['said'],
) => {
  const [{ status, secretFiles }, metrics, page] = [
    await health(),
    await text('/metrics'),
    await text('/'),
  ];
  const variables = Object.keys(secretFiles);
  const places = (variable: string) => [
    secretFiles[variable]?.usable === false,
    metrics.includes(`banks_secret_file_usable{variable="${variable}"} 0`),
    page.includes(`${variable} cannot be used`),
    service.output().includes(`"msg":"${variable}: ${said[variable] ?? said.rest}`),
  ];
  return {
    status,
    everywhere: variables.filter((variable) => places(variable).every(Boolean)),
    nowhere: variables.filter((variable) => !places(variable).slice(0, 3).some(Boolean)),
  };
};

const MANAGEMENT = 'MANAGEMENT_TOKEN_FILE';

/** Spoils all files of a service, and restarts it. @returns all that it has written */
export const spoilAll = async (way: Way, { make, said }: SpoiledFile): Promise<string> => {
  const stage = await openStage(way);
  const { variables, mount } = stage;
  const spoiled = variables.filter((name) => name !== MANAGEMENT);
  const saidOf = (name: string): string => `${name} ${said[name] ?? said.rest}`;
  await stage.accept('old');
  mount('old', variables);
  const first = stage.start();
  const running = await observe(first, stage);
  await waitUntil('a saved list', () => existsSync(stage.snapshot), Boolean);

  // At once.
  mount('old', [MANAGEMENT], make);
  const refused = await running.refresh('old');
  expect(refused).toMatchObject({
    status: 502,
    code: 'secrets_not_renewed',
    secretFiles: { [MANAGEMENT]: { contentSince: expect.any(String) } },
  });
  expect(spoiled.filter((name) => !refused.detail.includes(saidOf(name)))).toEqual([]);
  const seen = await waitUntil(
    'all files in all places',
    () => reported(first, running, said),
    ({ everywhere }) => everywhere.length === spoiled.length,
  );
  expect(seen).toMatchObject({ status: 'warn', nowhere: [MANAGEMENT] });
  // After the next renewal: what is needed is used as it was.
  expect(await running.renewal()).toEqual({
    failingSince: null,
    client: 'old client',
    isShared: true,
  });
  // What grants access is withdrawn.
  mount('old', [], make);
  expect(await running.refresh('old')).toMatchObject({ status: 403, code: 'refresh_disabled' });
  expect(await reported(first, running, said)).toMatchObject({ nowhere: [] });
  expect(await first.end('SIGTERM')).toBe(0);

  // A restart without a saved list, and with one.
  renameSync(stage.snapshot, `${stage.snapshot}.kept`);
  const second = stage.start();
  expect(await second.exit).toBe(1);
  const unsaid = spoiled.filter(
    (name) => !second.output().includes(saidOf(name).replace(' ', ': ')),
  );
  expect(unsaid).toEqual([]);
  renameSync(`${stage.snapshot}.kept`, stage.snapshot);
  mount('old', ['CACHE_SIGNING_KEY_FILE'], make);
  const third = stage.start();
  const restarted = await observe(third, stage);
  expect(await restarted.banks()).toBe(200);
  await waitUntil(
    'all unusable files in all places',
    () => reported(third, restarted, said),
    ({ everywhere }) =>
      spoiled.every((name) => name === 'CACHE_SIGNING_KEY_FILE' || everywhere.includes(name)),
  );

  return [JSON.stringify(refused), ...[first, second, third].map(({ output }) => output())].join();
};
