import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { parseConfig } from '../src/config.ts';
import { at, list, read, text } from './kit/manifests.ts';

// What the compose files and the alerts say, held against the code. Kubernetes: kubernetes.test.ts.

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
