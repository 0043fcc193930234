import { readFileSync } from 'node:fs';

/** The text of a file of the repository. */
export const read = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

// What operators deploy for Prometheus and Grafana.
export const ALERT_RULES = 'deploy/prometheus/banks-bff.rules.yml';
/** promtool's cases for them. */
export const TESTS_OF_RULES = 'deploy/prometheus/banks-bff.rules.test.yml';
/** The same, over several days. */
export const TESTS_OVER_DAYS = 'deploy/prometheus/banks-bff.days.test.yml';
export const DASHBOARD = 'deploy/grafana/banks-bff.json';
