import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { describeWithPromtool, promtool } from '../helpers/prometheus.ts';
import { ALERT_RULES, DASHBOARD, TESTS_OF_RULES, TESTS_OVER_DAYS } from '../helpers/repository.ts';
import { startLoadedRig } from '../helpers/rig.ts';
import { temporaryFile } from '../helpers/temporary-folder.ts';

// What Prometheus's own checker says of the metrics, the alert rules and the dashboard. That they
// name what is really there: test/telemetry/metrics.test.ts.

describeWithPromtool('promtool', () => {
  test('finds nothing against the names and helps', async () => {
    const rig = await startLoadedRig();
    await fetch(`${rig.url}/banks`);
    const metrics = await (await fetch(`${rig.managementUrl}/metrics`)).text();
    expect(metrics).toContain('banks_');
    expect(promtool(['check', 'metrics'], metrics)).toEqual({ status: 0, said: '' });
  });

  test('accepts the rules, which pass their cases', () => {
    expect(promtool(['check', 'rules', ALERT_RULES]).said).toContain('SUCCESS');
    const cases = promtool(['test', 'rules', TESTS_OF_RULES, TESTS_OVER_DAYS]);
    expect(cases).toEqual({ status: 0, said: expect.stringContaining('SUCCESS') });
  });

  test('can read every expression of the dashboard', () => {
    const rules: object[] = [];
    JSON.parse(
      readFileSync(DASHBOARD, 'utf8').replaceAll('$__rate_interval', '5m'),
      (key, value: unknown) => {
        if (key === 'expr') rules.push({ record: `a:b${rules.length}`, expr: value });
        return value;
      },
    );
    const groups = [{ name: 'dashboard', rules }];
    expect(rules.length).toBeGreaterThan(15);
    expect(promtool(['check', 'rules', temporaryFile(JSON.stringify({ groups }))])).toMatchObject({
      status: 0,
    });
  });
});
