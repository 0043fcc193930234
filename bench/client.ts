import { Agent, get, type AgentOptions } from 'node:http';
import type { RequestHeaders } from './load.ts';

/** What a client is given. */
export interface ClientTarget {
  /** The service's port. */
  readonly port: number;
  /** The list's. */
  readonly url: string;
  /** Of a page with another origin. */
  readonly pageUrl: string;
  readonly directory: string;
}

export interface OpenClient {
  /** Sends the requests one after the other; rejects if a response is not the list. */
  readonly send: (requests: number) => Promise<unknown>;
  readonly close: () => Promise<unknown>;
}

/** An ordinary client of the service, or a proxy with one. */
export interface Client {
  readonly name: string;
  readonly requests: number;
  readonly isInstalled: () => boolean;
  readonly open: (target: ClientTarget) => Promise<OpenClient>;
}

/** Enough for a CPU time: fewer than 500 say little. */
export const MANY = 2_000;

export interface HttpRequests {
  readonly urlOf: (index: number) => string;
  readonly requests: number;
  readonly headers?: RequestHeaders;
  readonly agent: AgentOptions;
}

/** Sends requests with Node's http, one after the other. */
export const sendWithHttp = async ({ urlOf, requests, headers = {}, ...options }: HttpRequests) => {
  const agent = new Agent(options.agent);
  for (let index = 0; index < requests; index += 1)
    await new Promise<void>((resolve, reject) => {
      const request = get(urlOf(index), { agent, headers }, (res) => {
        res.resume().on('end', () => {
          if (res.statusCode === 200) resolve();
          else reject(new Error(`status ${res.statusCode}`));
        });
      });
      request.on('error', reject);
    });
  agent.destroy();
};
