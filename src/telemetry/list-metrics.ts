import { Gauge, type Registry } from 'prom-client';
import type { ListStatus } from '../banks/bank-list.ts';
import { STATES, type FreshnessPolicy } from '../banks/freshness.ts';
import { LOAD_ERROR_KINDS } from '../banks/load-error.ts';
import { NOTHING_REJECTED, REJECTION_REASONS } from '../banks/reading/entry.ts';
import { countFilled } from '../banks/reading/profile.ts';

export interface ListMetricsOptions {
  readonly status: () => ListStatus;
  readonly policy: FreshnessPolicy;
  /** The published names, where they are configured: names that the provider chooses are not a closed set. */
  readonly fields: readonly string[];
}

/** Gauges of the list at the moment of the scrape. A value that is not known has no sample. */
export const defineListMetrics = (
  registry: Registry,
  { status, policy, fields }: ListMetricsOptions,
): void => {
  const gauge = (name: string, help: string, value: (status: ListStatus) => number | undefined): void => {
    registry.registerMetric(
      new Gauge({
        name,
        help,
        registers: [],
        collect() {
          const now = value(status());
          if (now === undefined) this.remove();
          else this.set(now);
        },
      }),
    );
  };
  /** 1 for the value that `label` has now, 0 for the others. */
  const state = <T extends string>(
    name: string,
    help: string,
    {
      label,
      values,
      now,
    }: { label: string; values: readonly T[]; now: (status: ListStatus) => T | undefined },
  ): void => {
    registry.registerMetric(
      new Gauge({
        name,
        help,
        labelNames: [label],
        registers: [],
        collect() {
          const current = now(status());
          for (const value of values) this.set({ [label]: value }, value === current ? 1 : 0);
        },
      }),
    );
  };

  gauge('banks_list_age_seconds', 'Time since the provider sent the cached list', ({ ageMs }) =>
    ageMs === undefined ? undefined : ageMs / 1_000,
  );
  gauge('banks_list_ttl_seconds', 'Age from which the list is stale', () => policy.ttlMs / 1_000);
  gauge(
    'banks_list_max_stale_seconds',
    'How long past its TTL the list may still be served',
    () => policy.maxStaleMs / 1_000,
  );
  gauge('banks_list_entries', 'Banks in the cached list', ({ held }) => held?.count ?? 0);
  gauge(
    'banks_list_last_success_timestamp_seconds',
    'When the provider sent the cached list',
    ({ held }) => held && held.receivedAtMs / 1_000,
  );
  defineRejectedEntries(registry, status);
  defineFilledShares(registry, status, fields);
  state('banks_list_state', '1 for the current state of the list: empty, fresh, stale or expired', {
    label: 'state',
    values: STATES,
    now: (current) => current.state,
  });
  state('banks_refresh_failing', '1 for the kind of the last failure, until a load succeeds', {
    label: 'kind',
    values: LOAD_ERROR_KINDS,
    now: ({ failure }) => failure?.kind,
  });
};

const defineRejectedEntries = (registry: Registry, status: () => ListStatus): void =>
  registry.registerMetric(
    new Gauge({
      name: 'banks_list_rejected_entries',
      help: 'Entries of the newest list that were unusable and are not served, by reason',
      labelNames: ['reason'],
      registers: [],
      collect() {
        const { rejected = NOTHING_REJECTED } = status().held ?? {};
        for (const reason of REJECTION_REASONS) this.set({ reason }, rejected[reason]);
      },
    }),
  );

const defineFilledShares = (registry: Registry, status: () => ListStatus, fields: readonly string[]): void =>
  registry.registerMetric(
    new Gauge({
      name: 'banks_list_field_filled_share',
      help: 'Share of the cached list, 0 to 1, in which a field of BANK_FIELDS is not missing, null or empty',
      labelNames: ['field'],
      registers: [],
      collect() {
        const { held } = status();
        if (!held || held.count === 0) return;
        for (const field of fields) this.set({ field }, countFilled(held.profile.get(field)) / held.count);
      },
    }),
  );
