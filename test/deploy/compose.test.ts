import { expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { parse } from 'yaml';
import { DEFAULT_ACCESS_TOKEN } from '../../emulator/emulator.ts';
import { parseConfig } from '../../src/config/config.ts';
import { SECRET_VARIABLES } from '../../src/config/variables.ts';
import { demoProblem } from '../../src/secrets/secret.ts';
import { at, list, read, text } from '../kit/manifests.ts';
import { startRig } from '../kit/rig.ts';

// What the compose files and the alerts say, held against the code. Kubernetes: kubernetes.test.ts.

/** Compose's tags for replacing what another file says. */
const customTags = ['!reset', '!override'].map((tag) => ({ tag, collection: 'seq' as const }));
const [alone, replicas] = ['docker-compose.yml', 'compose.replicas.yml'].map((path): unknown =>
  parse(read(path), { customTags }),
);
const services = [alone, replicas].flatMap((file) => Object.entries(Object(at(file, 'services'))));

test("the compose files' variables are the service's, and each is a good configuration", () => {
  const variablesOf = (file: unknown): [string, string][] =>
    Object.entries(Object(at(file, 'services', 'banks-bff', 'environment')))
      .map(([name, value]): [string, string] => [name, String(value)])
      .filter(([name]) => name !== 'NODE_OPTIONS');
  expect(parseConfig(Object.fromEntries(variablesOf(alone))).provider.environment).toBe('sandbox');
  const merged = parseConfig(Object.fromEntries([...variablesOf(alone), ...variablesOf(replicas)]));
  expect(merged.cache.redisUrl).toBeDefined();
  expect(read('deploy/haproxy/haproxy.cfg')).toContain(`banks-bff:${merged.listen.port}`);
});

test('the load balancer has a place for each replica', () => {
  const places = read('deploy/haproxy/haproxy.cfg').matchAll(/server-template replica (\d+) /g);
  const wanted = at(replicas, 'services', 'banks-bff', 'deploy', 'replicas');
  expect([...places].map(([, count]) => Number(count))).toEqual([wanted, wanted]);
});

test('secrets are files, and those in the repository are what the emulator accepts', () => {
  const variables = Object(at(alone, 'services', 'banks-bff', 'environment'));
  expect(SECRET_VARIABLES.filter((name) => name in variables)).toEqual([]);
  const secrets = Object.entries(Object(at(alone, 'secrets')));
  expect(list(at(alone, 'services', 'banks-bff', 'secrets'))).toEqual(secrets.map(([name]) => name));
  expect([variables.PROVIDER_ACCESS_TOKEN_FILE, variables.MANAGEMENT_TOKEN_FILE]).toEqual(
    secrets.map(([name]) => `/run/secrets/${name}`),
  );
  const [token, managementToken] = secrets.map(([, secret]) => read(text(at(secret, 'file'))).trim());
  expect(token).toBe(DEFAULT_ACCESS_TOKEN);
  expect(managementToken).toMatch(/^\S{16,}$/);
  // Neither is of use in production.
  for (const secret of [token, managementToken]) expect(demoProblem(secret ?? '')).toBeDefined();
});

test('every port is published on this machine only, the management port of each replica too', () => {
  const ports = services.flatMap(([, service]) => list(at(service, 'ports')).map(String));
  for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  expect(list(at(alone, 'services', 'banks-bff', 'ports'))).toContain('127.0.0.1:3001:3001');
  const wanted = Number(at(replicas, 'services', 'banks-bff', 'deploy', 'replicas'));
  expect(list(at(replicas, 'services', 'banks-bff', 'ports'))).toEqual([
    `127.0.0.1:3001-${3000 + wanted}:3001`,
  ]);
});

test('every container is bounded, comes back, and may do nothing that it need not', () => {
  // The replicas' file adds to the first one's banks-bff.
  const whole = services.filter(([, service]) => at(service, 'deploy') === undefined);
  expect(whole.map(([name]) => name)).toEqual(['banks-bff', 'emulator', 'redis', 'load-balancer']);
  for (const [name, service] of whole) {
    expect([name, service]).toEqual([
      name,
      expect.objectContaining({
        restart: 'unless-stopped',
        mem_limit: expect.stringMatching(/^\d+m$/),
        pids_limit: 100,
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      }),
    ]);
  }
});

test('the health checks of the images pass while the program answers, and fail once it does not', async () => {
  const checks = [...read('Dockerfile').matchAll(/^HEALTHCHECK .*\n +CMD (\[.*\])$/gm)].map(
    ([, command = '']): string[] => JSON.parse(command),
  );
  const rig = await startRig();
  const env = {
    PORT: new URL(rig.url).port,
    EMULATOR_CONTROL_PORT: new URL(rig.emulator.controlUrl).port,
  };
  const statuses = (): Promise<(number | null)[]> =>
    Promise.all(
      checks.map(async ([, ...args]) => {
        const child = spawn(process.execPath, args, { env, stdio: 'ignore' });
        await once(child, 'exit');
        return child.exitCode;
      }),
    );
  expect(await statuses()).toEqual([0, 0]);
  await rig.close();
  expect(await statuses()).toEqual([1, 1]);
});

test('each alert has a runbook, a section of the operations page', () => {
  const rules = list(at(parse(read('deploy/prometheus/banks-bff.rules.yml')), 'groups', 0, 'rules'));
  const repository = text(at(JSON.parse(read('package.json')), 'repository', 'url')).replace(
    /^git\+|\.git$/g,
    '',
  );
  for (const rule of rules) {
    const alert = text(at(rule, 'alert'));
    expect(at(rule, 'annotations', 'runbook_url')).toBe(
      `${repository}/blob/main/docs/operations.md#${alert.toLowerCase()}`,
    );
    expect(read('docs/operations.md')).toContain(`\n### ${alert}\n`);
  }
});

test('the image and the unit give Node the same options, and the image disables its debugger', () => {
  const [, heapMb = '', youngMb = ''] =
    /^ENTRYPOINT \["node", "--max-old-space-size=(\d+)", "--max-semi-space-size=(\d+)", .*$/m.exec(
      read('Dockerfile'),
    ) ?? [];
  const collector = '--no-parallel-scavenge';
  expect(read('Dockerfile')).toMatch(new RegExp(`^ENTRYPOINT .*"${collector}"`, 'm'));
  expect(read('deploy/systemd/banks-bff.service')).toContain(
    `ExecStart=/usr/bin/node ${collector} dist/src/main.js\n`,
  );
  // Node 20 does not know this option; the image has a later one.
  expect(read('Dockerfile')).toMatch(/^ENTRYPOINT .*"--disable-sigusr1", "dist\/src\/main\.js"\]$/m);
  for (const file of ['package.json', 'deploy/systemd/banks-bff.service', 'docker-compose.yml'])
    expect(read(file)).not.toContain('--disable-sigusr1');
  expect(read('deploy/kubernetes/deployment.yaml')).toContain(`limits: { memory: ${2 * Number(heapMb)}Mi }`);
  expect(read('deploy/systemd/banks-bff.service')).toContain(
    `NODE_OPTIONS=--max-old-space-size=${heapMb} --max-semi-space-size=${youngMb}"\n`,
  );
  expect(at(parse(read('docker-compose.yml')), 'services', 'banks-bff', 'mem_limit')).toBe(
    `${2 * Number(heapMb)}m`,
  );
});
