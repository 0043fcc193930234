import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { parse, parseAllDocuments } from 'yaml';
import { parseConfig, SECRET_VARIABLES, VARIABLES } from '../src/config.ts';
import { startRig } from './kit/rig.ts';

// What deploy/ and the compose files say, held against the code: a renamed variable, a moved port or a probe of a path
// that is gone fails here and not in a cluster.

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');

/** `value` at `path`; undefined where there is none. */
const at = (value: unknown, ...path: (string | number)[]): unknown => {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (typeof value !== 'object' || value === null) return undefined;
  return at(Object.entries(value).find(([name]) => name === String(key))?.[1], ...rest);
};
const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

const objects: unknown[] = parseAllDocuments(read('deploy/kubernetes/banks-bff.yaml')).map((document) =>
  document.toJS(),
);
const object = (kind: string): unknown => objects.find((candidate) => at(candidate, 'kind') === kind);
const pod = at(object('Deployment'), 'spec', 'template', 'spec');
const container = at(pod, 'containers', 0);
const secret = at(object('Secret'), 'stringData');

/** The container's variables as the service would see them, those from the Secret included. */
const env = Object.fromEntries(
  list(at(container, 'env')).map((entry) => {
    const key = at(entry, 'valueFrom', 'secretKeyRef', 'key');
    return [text(at(entry, 'name')), text(key === undefined ? at(entry, 'value') : at(secret, text(key)))];
  }),
);

test("the manifest's variables are the service's, and configure it", () => {
  expect(Object.keys(VARIABLES)).toEqual(expect.arrayContaining(Object.keys(env)));
  const config = parseConfig(env);
  expect(config.provider.environment).toBe('production');
  expect(config.management.listen).toEqual({ port: 3001, host: '0.0.0.0' });
  expect(at(pod, 'terminationGracePeriodSeconds')).toBeGreaterThan(config.shutdownGraceMs / 1_000);
  // Every Service of the namespace would add variables, some with our prefixes.
  expect(at(pod, 'enableServiceLinks')).toBe(false);
});

test("the manifest's ports are those that the service listens on, and operators' one is not published", () => {
  const { listen, management } = parseConfig(env);
  expect(list(at(container, 'ports'))).toEqual([
    { name: 'http', containerPort: listen.port },
    { name: 'management', containerPort: management.listen?.port },
  ]);
  expect(list(at(object('Service'), 'spec', 'ports')).map((port) => at(port, 'targetPort'))).toEqual([
    'http',
  ]);
});

test("the manifest's probes ask what the service answers", async () => {
  const rig = await startRig();
  for (const probe of ['livenessProbe', 'readinessProbe', 'startupProbe']) {
    expect(at(container, probe, 'httpGet', 'port')).toBe('http');
    const path = text(at(container, probe, 'httpGet', 'path'));
    // A path that is not there would be 404.
    expect([200, 503]).toContain((await fetch(`${rig.url}${path}`)).status);
  }
  expect(at(container, 'livenessProbe', 'httpGet', 'path')).toBe('/healthz');
  expect(at(container, 'readinessProbe', 'httpGet', 'path')).toBe('/readyz');
  await rig.close();
});

test('secrets come from the Secret: as files, or as the one variable that has none', () => {
  for (const entry of list(at(container, 'env'))) {
    const isSecret = SECRET_VARIABLES.some((name) => name === at(entry, 'name'));
    expect([at(entry, 'name'), at(entry, 'value') === undefined]).toEqual([at(entry, 'name'), isSecret]);
  }
  const mount = text(at(container, 'volumeMounts', 0, 'mountPath'));
  const files = list(at(pod, 'volumes', 0, 'secret', 'items')).map(
    (item) => `${mount}/${text(at(item, 'path'))}`,
  );
  expect(files).toEqual([env['PROVIDER_ACCESS_TOKEN_FILE'], env['MANAGEMENT_TOKEN_FILE']]);
});

test("the container may do nothing that the service does not do, as the image's user", () => {
  const [, user] =
    /^USER (\d+):\d+$/m.exec(read('Dockerfile').slice(read('Dockerfile').indexOf('AS service'))) ?? [];
  expect(at(pod, 'securityContext')).toMatchObject({ runAsNonRoot: true, runAsUser: Number(user) });
  expect(at(container, 'securityContext')).toEqual({
    readOnlyRootFilesystem: true,
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
  });
});

test('everything selects the same pods, and some always stay', () => {
  const labels = at(object('Deployment'), 'spec', 'template', 'metadata', 'labels');
  expect(at(object('Deployment'), 'spec', 'selector', 'matchLabels')).toEqual(labels);
  expect(at(object('Service'), 'spec', 'selector')).toEqual(labels);
  const budget = at(object('PodDisruptionBudget'), 'spec');
  expect(at(budget, 'selector', 'matchLabels')).toEqual(labels);
  expect(at(budget, 'minAvailable')).toBeLessThan(Number(at(object('Deployment'), 'spec', 'replicas')));
});

test("the compose files' variables are the service's, and the load balancer knows its port", () => {
  const compose = ['docker-compose.yml', 'compose.replicas.yml'].map((path): unknown =>
    parse(read(path), { customTags: [{ tag: '!reset', collection: 'seq' }] }),
  );
  const variables = compose.map((file) => at(file, 'services', 'banks-bff', 'environment'));
  const merged = Object.fromEntries(
    variables.flatMap((some) => Object.entries(Object(some))).map(([name, value]) => [name, String(value)]),
  );
  expect(parseConfig(merged).cache.redisUrl).toBeDefined();
  expect(read('deploy/haproxy/haproxy.cfg')).toContain(`banks-bff:${parseConfig(merged).listen.port}`);
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
