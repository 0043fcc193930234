import type { RequestHandler } from 'express';
import type { BankList } from '../banks/bank-list.ts';
import type { SecretFileState } from '../secrets/secret-files.ts';
import type { StoreState } from '../sharing/store-report.ts';
import { sendJson } from './headers.ts';
import { sendProblem } from './problem-details.ts';

// The probes: alive (/healthz) and able to serve (/readyz). The public port says no more of itself
// than any client may know; the management port adds the details.

/** Their paths, which are their routes too. */
export const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz']);

export interface HealthOptions {
  readonly list: BankList;
  readonly stores: () => readonly StoreState[];
  readonly secretFiles: () => readonly SecretFileState[];
}

/** What both ports say. `warn`: the list is not fresh, or loads, a store or a file are failing. */
export const summarizeHealth = ({ list, stores, secretFiles }: HealthOptions) => {
  const { state, cached, ageMs, failing } = list.status();
  const isWell =
    state === 'fresh' &&
    !failing &&
    stores().every((store) => !store.failing) &&
    secretFiles().every((file) => !file.unusable);
  return {
    status: isWell ? 'pass' : 'warn',
    list: {
      state,
      count: cached?.count ?? 0,
      ageSeconds: ageMs === undefined ? null : Math.round(ageMs / 1_000),
    },
  };
};

/** `GET /healthz` of the public port: 200 whenever the process can answer. */
export const createHealthz =
  (options: HealthOptions): RequestHandler =>
  (_req, res) =>
    sendJson(res, summarizeHealth(options));

export interface ReadinessOptions {
  readonly list: BankList;
  readonly isDraining: () => boolean;
}

/** `GET /readyz`: 200 while a list can be served and the service is not draining. */
export const createReadyz =
  ({ list, isDraining }: ReadinessOptions): RequestHandler =>
  (_req, res) => {
    if (isDraining()) sendProblem(res, 'draining');
    else if (list.served()) sendJson(res, { status: 'ready' });
    else sendProblem(res, 'not_ready');
  };
