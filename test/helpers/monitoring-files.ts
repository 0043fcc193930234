// What operators deploy for Prometheus and Grafana, by paths in the repository.

export const ALERT_RULES = 'deploy/prometheus/banks-bff.rules.yml';
/** promtool's cases for them. */
export const TESTS_OF_RULES = 'deploy/prometheus/banks-bff.rules.test.yml';
/** The same, over several days. */
export const TESTS_OVER_DAYS = 'deploy/prometheus/banks-bff.days.test.yml';
export const DASHBOARD = 'deploy/grafana/banks-bff.json';
