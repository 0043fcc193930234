import { readFileSync, writeFileSync } from 'node:fs';

// Writes the alerts of deploy/prometheus as a PrometheusRule: `node tools/write-prometheus-rule.js`. kubernetes.test.ts
// fails until that is done.

const rules = readFileSync('deploy/prometheus/banks-bff.rules.yml', 'utf8');
const groups = rules.slice(rules.indexOf('groups:'));
writeFileSync(
  'deploy/kubernetes/monitoring/prometheus-rule.yaml',
  `# Written from deploy/prometheus/banks-bff.rules.yml by \`node tools/write-prometheus-rule.js\`: edit that one.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: banks-bff
spec:
${groups.replaceAll(/^(?=.)/gm, '  ')}`,
);
