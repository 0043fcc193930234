import { expect, test } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';
import { parseConfig } from '../../src/config/config.ts';
import { SECRET_VARIABLES, VARIABLE_NAMES } from '../../src/config/variables.ts';
import { ALERT_RULES, read } from '../helpers/repository.ts';
import { startRig } from '../helpers/rig.ts';

// The Kubernetes manifests, held against the code: a renamed variable, a moved port or a probe of a
// path that is gone fails here and not in a cluster.

const BASE = 'deploy/kubernetes';
const documentsOf = (path: string) =>
  parseAllDocuments(read(`${BASE}/${path}`)).map((document) => document.toJS());
const kustomization = parse(read(`${BASE}/kustomization.yaml`));
const base = kustomization.resources.flatMap(documentsOf);
const { resources } = parse(read(`${BASE}/monitoring/kustomization.yaml`));
const monitoring = resources.flatMap((path: string) => documentsOf(`monitoring/${path}`));

const specOf = (kind: string) =>
  [...base, ...monitoring].find((object) => object.kind === kind).spec;
/** The keys of the Secret that the documented command makes. */
const secretKeys = [
  ...(/kubectl create secret .*/.exec(read(`${BASE}/kustomization.yaml`))?.[0] ?? '').matchAll(
    /--from-file=(\S+)/g,
  ),
].map(([, key]) => key);

const { metadata, spec: pod } = specOf('Deployment').template;
const [container] = pod.containers;
const env: Readonly<Record<string, string>> = Object.fromEntries(
  container.env.map(({ name, value }: { name: string; value: string }) => [name, value]),
);

test("the Deployment's variables and ports are the service's, and no Service has the management port", () => {
  expect(VARIABLE_NAMES).toEqual(expect.arrayContaining(Object.keys(env)));
  const { provider, guard, listen, management, shutdownGraceMs } = parseConfig(env);
  expect(provider.environment).toBe('production');
  expect(provider.baseUrl.port).toBe('');
  expect(guard.minBanks).toBeGreaterThan(100);
  expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(shutdownGraceMs / 1_000);
  expect(management.listen?.host).toBe('0.0.0.0');
  expect(container.ports).toEqual([
    { name: 'http', containerPort: listen.port },
    { name: 'management', containerPort: management.listen?.port },
  ]);
  expect(specOf('Service').ports).toEqual([expect.objectContaining({ targetPort: 'http' })]);
});

test('the probes ask what the service answers', async () => {
  const rig = await startRig();
  const urls = { http: rig.url, management: rig.managementUrl };
  for (const [probe, port, path] of [
    // Clients who take all connections of the public port must not restart the pod.
    ['livenessProbe', 'management', '/healthz'],
    ['readinessProbe', 'http', '/readyz'],
    ['startupProbe', 'management', '/healthz'],
  ] as const) {
    expect(container[probe].httpGet).toEqual({ port, path });
    // A path that is not there would be 404.
    expect([200, 503]).toContain((await fetch(`${urls[port]}${path}`)).status);
  }
});

test('secrets are files of a Secret that applying the base again does not touch', () => {
  expect(SECRET_VARIABLES.filter((name) => name in env)).toEqual([]);
  expect(base.map(({ kind }: { kind: string }) => kind)).not.toContain('Secret');
  const [{ mountPath }] = container.volumeMounts;
  const files = Object.keys(env).filter((name) => name.endsWith('_FILE'));
  expect(new Set(files.map((name) => env[name]))).toEqual(
    new Set(secretKeys.map((key) => `${mountPath}/${key}`)),
  );
});

test('everything selects the same pods, and a drain takes one at a time', () => {
  const { labels } = metadata;
  expect(specOf('Service').selector).toEqual(labels);
  expect(specOf('NetworkPolicy').podSelector.matchLabels).toEqual(labels);
  expect(kustomization.labels[0].pairs).toEqual(labels);
  for (const kind of ['Deployment', 'PodMonitor', 'PodDisruptionBudget'])
    expect(specOf(kind).selector.matchLabels).toEqual(labels);
  // A number of pods that must stay would block every drain of an overlay with as few replicas.
  expect(specOf('PodDisruptionBudget').maxUnavailable).toBe(1);
});

test("the alerts are those of Prometheus's own file", () => {
  // When it fails: node tools/write-prometheus-rule.js
  expect(specOf('PrometheusRule')).toEqual(parse(read(ALERT_RULES)));
});
