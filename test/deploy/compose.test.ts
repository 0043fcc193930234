import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { DEFAULT_ACCESS_TOKEN } from '../../emulator/emulator.ts';
import { parseConfig } from '../../src/config/config.ts';
import { SECRET_VARIABLES } from '../../src/config/variables.ts';
import { demoProblem } from '../../src/secrets/secret.ts';
import { emulate } from '../helpers/emulate.ts';
import { startProcess } from '../helpers/process.ts';
import { runProgram } from '../helpers/program.ts';
import { read } from '../helpers/repository.ts';

// What the compose files and the image say, held against the code. Kubernetes: kubernetes.test.ts.

/** Compose's tags for replacing what another file says. */
const customTags = ['!reset', '!override'].map((tag) => ({ tag, collection: 'seq' as const }));
const { services: alone, secrets } = parse(read('docker-compose.yml'));
const { services: replicas } = parse(read('compose.replicas.yml'), { customTags });
const service = alone['banks-bff'];
const replica = replicas['banks-bff'];
const dockerfile = read('Dockerfile');

test("the compose files' variables are the service's, and each is a good configuration", () => {
  expect(parseConfig(service.environment).provider.environment).toBe('sandbox');
  const merged = parseConfig({ ...service.environment, ...replica.environment });
  expect(merged.cache.redisUrl).toBeDefined();
  expect(read('deploy/haproxy/haproxy.cfg')).toContain(`banks-bff:${merged.listen.port}`);
});

test('the load balancer has a place for each replica', () => {
  const places = read('deploy/haproxy/haproxy.cfg').matchAll(/server-template replica (\d+) /g);
  const wanted = replica.deploy.replicas;
  expect([...places].map(([, count]) => Number(count))).toEqual([wanted, wanted]);
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
  for (const secret of [token, managementToken]) expect(demoProblem(secret)).toBeDefined();
});

test('a crash leaves no core dump, which would contain the token', () => {
  expect(service.ulimits).toEqual({ core: 0 });
  expect(read('deploy/systemd/banks-bff.service')).toContain('\nLimitCORE=0\n');
});

test('every port is published on this machine only, the management port of each replica too', () => {
  const all = [...Object.values<typeof service>(alone), ...Object.values<typeof service>(replicas)];
  for (const port of all.flatMap(({ ports = [] }) => ports)) expect(port).toMatch(/^127\.0\.0\.1:/);
  expect(service.ports).toContain('127.0.0.1:3001:3001');
  expect(replica.ports).toEqual([`127.0.0.1:3001-${3000 + replica.deploy.replicas}:3001`]);
});

test.each([
  ['banks-bff', service],
  ['emulator', alone.emulator],
  ['redis', replicas.redis],
  ['load-balancer', replicas['load-balancer']],
])('%s is bounded, comes back, and may do nothing that it need not', (_name, container) => {
  expect(container).toMatchObject({
    restart: 'unless-stopped',
    mem_limit: expect.stringMatching(/^\d+m$/),
    pids_limit: 100,
    read_only: true,
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true'],
  });
});

test.each([
  ['the address in HOST', { HOST: '127.0.0.2', PORT: '0' }],
  ['the management port where PORT is 0', { PORT: '0' }],
])(
  'the health check of the image asks %s, past any proxy, and fails once nothing answers',
  async (_address, env) => {
    const [, command = ''] = /^HEALTHCHECK .* CMD (\[.*\])$/m.exec(dockerfile) ?? [];
    const emulator = await emulate();
    const running = await startProcess({ ...env, PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl });
    const check = (): Promise<number | null> => {
      const ports = {
        ...('HOST' in env && { PORT: new URL(running.url).port }),
        MANAGEMENT_PORT: new URL(running.managementUrl).port,
      };
      const proxy = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: 'http://127.0.0.1:9' };
      const args: string[] = JSON.parse(command).slice(1);
      return runProgram(process.execPath, { args, env: { ...env, ...ports, ...proxy } }).exit;
    };
    expect(await check()).toBe(0);
    await running.end('SIGINT');
    expect(await check()).toBe(1);
  },
);

test('the image and the unit give Node the same options, and each keeps its debugger closed in its own way', () => {
  const unit = read('deploy/systemd/banks-bff.service');
  const [, command = ''] = /^ENTRYPOINT (.*)$/m.exec(dockerfile) ?? [];
  const [, heap, young, collector, ...others] = JSON.parse(command);
  expect(unit).toContain(`NODE_OPTIONS=${heap} ${young}"\n`);
  expect(unit).toContain(
    `ExecStart=/usr/bin/node ${collector} --inspect-port=192.0.2.1:9229 dist/src/main.js\n`,
  );
  // Node 20 does not know this option; the image has a later one.
  expect(others).toContain('--disable-sigusr1');
  for (const text of [unit, read('package.json'), read('docker-compose.yml')])
    expect(text).not.toContain('--disable-sigusr1');
});
