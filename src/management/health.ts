import type { IncomingMessage, ServerResponse } from 'node:http';
import { toIso, type Clock } from '../clock.ts';
import { sendJson } from '../http/headers.ts';
import { summarizeHealth, type HealthOptions } from '../http/probes.ts';

// `GET /healthz` of the management port: what the public port says, and the details that are not
// for everybody.

export interface DetailedHealthOptions extends HealthOptions {
  readonly clock: Clock;
  readonly environment: string;
  readonly version: string;
}

export const createDetailedHealthz =
  (options: DetailedHealthOptions) =>
  (_req: IncomingMessage, res: ServerResponse): void => {
    const { list, stores, secretFiles, clock, environment, version } = options;
    const { cached, ageMs, failing } = list.status();
    const summary = summarizeHealth(options);
    const nowMs = clock.wallMs();
    const toShownTime = (pastMs: number | undefined): string | null =>
      pastMs === undefined ? null : toIso(pastMs);
    const details = {
      status: summary.status,
      environment,
      version,
      list: {
        ...summary.list,
        lastSuccess: toShownTime(ageMs === undefined ? undefined : nowMs - ageMs),
        lastChanged: toShownTime(cached?.changedAtMs),
        lastFailure: failing?.error.kind ?? null,
        failingSince: toShownTime(failing?.sinceMs),
      },
      stores: Object.fromEntries(
        stores().map((store) => [
          store.name,
          { works: store.failing === undefined, failingSince: toShownTime(store.failing?.sinceMs) },
        ]),
      ),
      secretFiles: Object.fromEntries(
        secretFiles().map(({ variable, unusable }) => [
          variable,
          { usable: unusable === undefined, unusableSince: toShownTime(unusable?.sinceMs) },
        ]),
      ),
    };
    sendJson(res, details);
  };
