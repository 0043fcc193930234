import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BankList } from '../banks/bank-list.ts';
import { notAfter, toIso, type Clock } from '../clock.ts';
import type { SecretFileState } from '../secrets/secrets.ts';
import type { StoreState } from '../telemetry/events.ts';
import { JSON_TYPE, sendUncached } from './headers.ts';
import { sendProblem } from './problems.ts';

// The probes: alive (/healthz) and able to serve (/readyz).

/** Their paths, which are their routes too. */
export const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz']);

export interface HealthOptions {
  readonly list: BankList;
  readonly stores: () => readonly StoreState[];
  readonly clock: Clock;
  readonly secretFiles: () => readonly SecretFileState[];
  readonly environment: string;
  readonly version: string;
  readonly isDraining: () => boolean;
}

/** `GET /healthz`: 200 whenever the process can answer, whatever the provider does. */
export const createHealthz =
  ({ list, stores, secretFiles, clock, environment, version }: HealthOptions) =>
  (_req: IncomingMessage, res: ServerResponse): void => {
    const { state, cached, ageMs, failing, lastFailure } = list.status();
    const states = stores();
    const files = secretFiles();
    const nowMs = clock.wallMs();
    const toShownTime = (pastMs: number | undefined): string | null =>
      pastMs === undefined ? null : toIso(notAfter(nowMs, pastMs));
    const storesAndFilesWork =
      states.every((store) => !store.failing) && files.every((file) => !file.unusable);
    const isWell = state === 'fresh' && !failing && storesAndFilesWork;
    sendJson(res, {
      status: isWell ? 'pass' : 'warn',
      environment,
      version,
      list: {
        state,
        count: cached?.count ?? 0,
        ageSeconds: ageMs === undefined ? null : Math.round(ageMs / 1_000),
        lastSuccess: toShownTime(cached?.loadedAtWallMs),
        lastChanged: toShownTime(cached?.changedAtMs),
        lastFailure: lastFailure?.kind ?? null,
        lastFailureAt: toShownTime(lastFailure?.atMs),
        failingSince: toShownTime(failing?.sinceMs),
      },
      stores: Object.fromEntries(
        states.map((store) => [
          store.name,
          { works: store.failing === undefined, failingSince: toShownTime(store.failing?.sinceMs) },
        ]),
      ),
      secretFiles: Object.fromEntries(
        files.map(({ variable, unusable }) => [
          variable,
          { usable: unusable === undefined, unusableSince: toShownTime(unusable?.sinceMs) },
        ]),
      ),
    });
  };

/** `GET /readyz`: 200 while a list can be served and the service is not draining. */
export const createReadyz =
  ({ list, isDraining }: HealthOptions) =>
  (_req: IncomingMessage, res: ServerResponse): void => {
    if (isDraining()) sendProblem(res, 'draining');
    else if (list.served()) sendJson(res, { status: 'ready' });
    else sendProblem(res, 'not_ready');
  };

const sendJson = (res: ServerResponse, value: unknown): void =>
  sendUncached(res, JSON_TYPE, JSON.stringify(value));
