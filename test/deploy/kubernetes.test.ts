import { describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { parse, parseAllDocuments } from 'yaml';
import { parseConfig } from '../../src/config/config.ts';
import { SECRET_VARIABLES, VARIABLES } from '../../src/config/variables.ts';
import { at, list, read, text } from '../kit/manifests.ts';
import { startRig } from '../kit/rig.ts';

// The Kubernetes manifests, held against the code: a renamed variable, a moved port or a probe of a path that is gone
// fails here and not in a cluster.

const BASE = 'deploy/kubernetes';
const documentsOf = (path: string): unknown[] =>
  parseAllDocuments(read(`${BASE}/${path}`)).map((document) => document.toJS());
const resourcesOf = (folder: string): string[] =>
  list(at(parse(read(`${BASE}/${folder}kustomization.yaml`)), 'resources')).map(
    (file) => `${folder}${text(file)}`,
  );

const base = resourcesOf('').flatMap(documentsOf);
const monitoring = resourcesOf('monitoring/').flatMap(documentsOf);
const object = (kind: string, name = 'banks-bff'): unknown =>
  [...base, ...monitoring].find(
    (candidate) => at(candidate, 'kind') === kind && at(candidate, 'metadata', 'name') === name,
  );
const [secret] = documentsOf('examples/secret.yaml');
const [ingress] = documentsOf('examples/ingress.yaml');
const kustomization: unknown = parse(read(`${BASE}/kustomization.yaml`));

const pod = at(object('Deployment'), 'spec', 'template', 'spec');
const container = at(pod, 'containers', 0);
const labels = at(object('Deployment'), 'spec', 'template', 'metadata', 'labels');
const containerPorts = list(at(container, 'ports')).map((port) => at(port, 'name'));
/** The container's variables, without Node's own. */
const env = Object.fromEntries(
  list(at(container, 'env'))
    .map((entry) => [text(at(entry, 'name')), text(at(entry, 'value'))] as const)
    .filter(([name]) => name !== 'NODE_OPTIONS'),
);

test("the Deployment's variables are the service's, and configure it", () => {
  expect(Object.keys(VARIABLES)).toEqual(expect.arrayContaining(Object.keys(env)));
  const config = parseConfig(env);
  expect(config.provider.environment).toBe('production');
  expect(config.management.listen).toEqual({ port: 3001, host: '0.0.0.0' });
  expect(at(pod, 'terminationGracePeriodSeconds')).toBeGreaterThan(config.shutdownGraceMs / 1_000);
  // Every Service of the namespace would add variables, some with our prefixes.
  expect(at(pod, 'enableServiceLinks')).toBe(false);
});

test('the ports are those that the service listens on, and no Service has the management port', () => {
  const { listen, management } = parseConfig(env);
  expect(list(at(container, 'ports'))).toEqual([
    { name: 'http', containerPort: listen.port },
    { name: 'management', containerPort: management.listen?.port },
  ]);
  const services = base.filter((candidate) => at(candidate, 'kind') === 'Service');
  for (const service of services) {
    expect(list(at(service, 'spec', 'ports')).map((port) => at(port, 'targetPort'))).toEqual(['http']);
  }
  expect(services.length).toBe(2);
});

test('the probes ask what the service answers', async () => {
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

test('secrets are files of a Secret that applying the base again does not touch', () => {
  expect(SECRET_VARIABLES.filter((name) => name in env)).toEqual([]);
  expect(base.map((candidate) => at(candidate, 'kind'))).not.toContain('Secret');
  const mount = text(at(container, 'volumeMounts', 0, 'mountPath'));
  const files = Object.entries(env).filter(([name]) => name.endsWith('_FILE'));
  expect(files.map(([, path]) => path).toSorted()).toEqual(
    Object.keys(Object(at(secret, 'stringData')))
      .map((key) => `${mount}/${key}`)
      .toSorted(),
  );
  expect(at(secret, 'metadata', 'name')).toBe(at(pod, 'volumes', 0, 'secret', 'secretName'));
});

test("the container may do nothing that the service does not do, as the image's user", () => {
  const dockerfile = read('Dockerfile');
  const [, user] = /^USER (\d+):\d+$/m.exec(dockerfile.slice(dockerfile.indexOf('AS service'))) ?? [];
  expect(at(pod, 'securityContext')).toMatchObject({ runAsNonRoot: true, runAsUser: Number(user) });
  expect(at(container, 'securityContext')).toEqual({
    readOnlyRootFilesystem: true,
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
  });
});

test('everything selects the same pods, and a drain takes one at a time', () => {
  expect(at(object('Deployment'), 'spec', 'selector', 'matchLabels')).toEqual(labels);
  expect(at(object('Service'), 'spec', 'selector')).toEqual(labels);
  expect(at(object('Service', 'banks-bff-alive'), 'spec', 'selector')).toEqual(labels);
  expect(at(object('NetworkPolicy'), 'spec', 'podSelector', 'matchLabels')).toEqual(labels);
  expect(at(object('PodMonitor'), 'spec', 'selector', 'matchLabels')).toEqual(labels);
  expect(at(kustomization, 'labels', 0, 'pairs')).toEqual(labels);
  const budget = at(object('PodDisruptionBudget'), 'spec');
  expect(at(budget, 'selector', 'matchLabels')).toEqual(labels);
  // A number of pods that must stay would block every drain of an overlay with as few replicas.
  expect(at(budget, 'maxUnavailable')).toBe(1);
});

const portsOf = (rule: unknown): unknown[] => list(at(rule, 'ports')).map((port) => at(port, 'port'));

test('only named namespaces reach the pods: Prometheus the management port, which it scrapes either way', () => {
  const rules = list(at(object('NetworkPolicy'), 'spec', 'ingress'));
  expect(rules.flatMap(portsOf)).toEqual(containerPorts);
  for (const rule of rules) {
    const name = at(rule, 'from', 0, 'namespaceSelector', 'matchLabels', 'kubernetes.io/metadata.name');
    expect(name).toBe(portsOf(rule)[0] === 'http' ? 'ingress-nginx' : 'monitoring');
  }
  expect(at(ingress, 'spec', 'ingressClassName')).toBe('nginx');

  const [endpoint] = list(at(object('PodMonitor'), 'spec', 'podMetricsEndpoints'));
  expect(endpoint).toMatchObject({ port: 'management', path: '/metrics' });
  const annotations = at(object('Deployment'), 'spec', 'template', 'metadata', 'annotations');
  expect(annotations).toMatchObject({ 'prometheus.io/port': '3001', 'prometheus.io/path': '/metrics' });
});

test('the pods reach DNS, the provider on the internet, and Redis, and nothing else', () => {
  const policy = at(object('NetworkPolicy'), 'spec');
  expect(at(policy, 'policyTypes')).toEqual(['Ingress', 'Egress']);
  const rules = list(at(policy, 'egress'));
  const redisPort = Number(new URL(text(at(secret, 'stringData', 'redis-url'))).port);
  expect(rules.map(portsOf)).toEqual([[53, 53], [443], [redisPort]]);
  const blocks = list(at(rules[1], 'to')).map((to) => at(to, 'ipBlock'));
  // The cloud's metadata, which gives credentials to whoever asks.
  expect(list(at(blocks[0], 'except'))).toContain('169.254.0.0/16');
  expect(new URL(text(env['PROVIDER_PRODUCTION_BASE_URL'])).port).toBe('');
});

test("the PrometheusRule has the alerts of Prometheus's own file", () => {
  const rules: unknown = parse(read('deploy/prometheus/banks-bff.rules.yml'));
  // When it fails: node test/kit/write-prometheus-rule.js
  expect(at(object('PrometheusRule'), 'spec')).toEqual(rules);
});

test('the image is named in one place', () => {
  const [image] = list(at(kustomization, 'images'));
  expect(at(container, 'image')).toBe(at(image, 'name'));
  expect(at(image, 'newTag')).toBe(at(JSON.parse(read('package.json')), 'version'));
});

test('the Ingress leads to the ready pods, and without any to those that are alive', () => {
  const backend = at(ingress, 'spec', 'rules', 0, 'http', 'paths', 0, 'backend', 'service');
  const fallback = at(ingress, 'metadata', 'annotations', 'nginx.ingress.kubernetes.io/default-backend');
  const alive = object('Service', text(fallback));
  expect(at(alive, 'spec', 'publishNotReadyAddresses')).toBe(true);
  expect(at(object('Service', text(at(backend, 'name'))), 'spec', 'ports', 0, 'name')).toBe(
    at(backend, 'port', 'name'),
  );
  expect(at(ingress, 'spec', 'tls', 0, 'hosts', 0)).toBe(at(ingress, 'spec', 'rules', 0, 'host'));
});

test('every file of the base exists, and examples are not part of it', () => {
  for (const path of [...resourcesOf(''), ...resourcesOf('monitoring/')]) {
    expect([path, existsSync(`${BASE}/${path}`)]).toEqual([path, true]);
    expect(path).not.toContain('example');
  }
});

// Not required in CI: Debian's kubectl is older than the kustomize that knows `labels`.
const { stdout: versions } = spawnSync('kubectl', ['version', '--client'], { encoding: 'utf8' });
const hasKustomize = /Kustomize Version: v5/.test(versions);
if (!hasKustomize) process.stderr.write('Left out: kustomize. It needs a kubectl from 1.27 on.\n');

(hasKustomize ? describe : describe.skip)('kustomize', () => {
  const build = (folder: string): string => {
    const { status, stdout, stderr } = spawnSync('kubectl', ['kustomize', folder], { encoding: 'utf8' });
    if (status !== 0) throw new Error(stderr);
    return stdout;
  };

  test('builds both, with the image in it', () => {
    expect(build(BASE)).toContain('image: registry.example.com/banks-bff:');
    expect(parseAllDocuments(build(BASE))).toHaveLength(base.length);
    expect(parseAllDocuments(build(`${BASE}/monitoring`))).toHaveLength(monitoring.length);
  });
});
