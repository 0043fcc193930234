import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BankList } from '../banks/bank-list.ts';
import { sendProblem } from './problems.ts';

// What machines ask about the service's condition: alive (/healthz) and able to serve (/readyz).

export interface HealthOptions {
  readonly list: BankList;
  readonly environment: string;
  readonly version: string;
  readonly isDraining: () => boolean;
}

/** `GET /healthz`: 200 whenever the process can answer, whatever the provider does. */
export const createHealthz =
  ({ list, environment, version }: HealthOptions) =>
  (_req: IncomingMessage, res: ServerResponse): void => {
    const { state, held, ageMs, lastFailure } = list.status();
    sendJson(res, {
      status: state === 'fresh' ? 'pass' : 'warn',
      environment,
      version,
      list: {
        state,
        count: held?.count ?? 0,
        ageSeconds: ageMs === undefined ? null : Math.round(ageMs / 1_000),
        lastSuccess: toIso(held?.receivedAtMs),
        lastFailure: lastFailure?.kind ?? null,
        lastFailureAt: toIso(lastFailure?.atMs),
      },
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

const toIso = (wallMs: number | undefined): string | null =>
  wallMs === undefined ? null : new Date(wallMs).toISOString();

const sendJson = (res: ServerResponse, value: unknown): void => {
  const body = JSON.stringify(value);
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  res.setHeader('Content-Length', Buffer.byteLength(body));
  res.setHeader('Cache-Control', 'no-store');
  res.end(body);
};
