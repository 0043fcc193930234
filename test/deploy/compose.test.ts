import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { DEFAULT_ACCESS_TOKEN } from '../../emulator/emulator.ts';
import { parseConfig } from '../../src/config/config.ts';
import { SECRET_VARIABLES } from '../../src/config/variables.ts';
import { secretProblem } from '../../src/secrets/secret-rules.ts';
import { emulate } from '../helpers/emulate.ts';
import { startProcess } from '../helpers/process.ts';
import { runProgram } from '../helpers/program.ts';
import { read } from '../helpers/repository.ts';

// What the compose files and the image say, held against the code. Kubernetes: kubernetes.test.ts.

/** Compose's tags for replacing what another file says. */
const customTags = ['!reset', '!override'].map((tag) => ({ tag, collection: 'seq' as const }));
const { services, secrets } = parse(read('docker-compose.yml'));
const { services: replicas } = parse(read('compose.replicas.yml'), { customTags });
const service = services['banks-bff'];
const replica = replicas['banks-bff'];

test("the compose files' variables are the service's, and each is a good configuration", () => {
  expect(parseConfig(service.environment).provider.environment).toBe('sandbox');
  const merged = parseConfig({ ...service.environment, ...replica.environment });
  expect(merged.secrets.CACHE_REDIS_URL).toBeDefined();
  expect(read('deploy/haproxy/haproxy.cfg')).toContain(`banks-bff:${merged.listen.port}`);
});

test('secrets are files, and those in the repository are what the emulator accepts and of no use in production', () => {
  expect(SECRET_VARIABLES.filter((name) => name in service.environment)).toEqual([]);
  const [name, managementName] = service.secrets;
  expect(service.environment).toMatchObject({
    PROVIDER_ACCESS_TOKEN_FILE: `/run/secrets/${name}`,
    MANAGEMENT_TOKEN_FILE: `/run/secrets/${managementName}`,
  });
  const token = read(secrets[name].file).trim();
  const managementToken = read(secrets[managementName].file).trim();
  expect(token).toBe(DEFAULT_ACCESS_TOKEN);
  expect(managementToken).toMatch(/^\S{16,}$/);
  for (const secret of [token, managementToken])
    expect(secretProblem('MANAGEMENT_TOKEN', secret, 'production')).toContain('demo');
});

test.each([
  ['the management port, not the public one', { MANAGEMENT_HOST: '127.0.0.2' }],
  ['the public port where no other is open', { HOST: '127.0.0.2', MANAGEMENT_PORT: 'off' }],
])(
  'the health check of the image asks %s, past any proxy, and fails once nothing answers',
  async (_port, env) => {
    const [, command = ''] = /^HEALTHCHECK .* CMD (\[.*\])$/m.exec(read('Dockerfile')) ?? [];
    const [, ...args]: string[] = JSON.parse(command);
    const emulator = await emulate();
    const running = await startProcess({ ...env, PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl });
    // The port that it may ask. Nothing listens on the other.
    const ports = running.managementUrl
      ? { PORT: '9', MANAGEMENT_PORT: new URL(running.managementUrl).port }
      : { PORT: new URL(running.url).port };
    const proxy = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: 'http://127.0.0.1:9' };
    const check = (): Promise<number | null> =>
      runProgram(process.execPath, { args, env: { ...env, ...ports, ...proxy } }).exit;
    expect(await check()).toBe(0);
    await running.end('SIGINT');
    expect(await check()).toBe(1);
  },
);
