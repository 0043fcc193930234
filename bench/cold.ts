import { Agent, request } from 'undici';
import { CHROME, inspect, type Inspected } from './load.ts';

// The service's responses in a form that other servers can send, and a flood of requests before the first list.

const PER_REQUEST = /^(date|connection|keep-alive|x-request-id)$/i;

/** The service's responses in the form that the servers in bench/peers read. */
export const recordResponses = async (
  url: string,
  { browser, identity }: Record<'browser' | 'identity', Inspected>,
) => {
  const headersOf = ({ rawHeaders }: Inspected): string[][] =>
    rawHeaders.flatMap((name, index) => (index % 2 === 0 ? [[name, rawHeaders[index + 1] ?? '']] : []));
  const toResponse = async (ok: Inspected) => {
    const notModified = await inspect(url, { ...CHROME, 'If-None-Match': ok.etag });
    const withFixedId = (headers: string[][]): string[][] => [
      ['X-Request-Id', 'AbCdEfGhIjKl-123456'],
      ...headers.filter(([name = '']) => !PER_REQUEST.test(name)),
    ];
    return {
      etag: ok.etag,
      body: ok.body.toString('base64'),
      headers: withFixedId(headersOf(ok)),
      notModifiedHeaders: withFixedId(headersOf(notModified)),
    };
  };
  return { br: await toResponse(browser), identity: await toResponse(identity) };
};

/** Sends all requests at once as soon as the service listens; `good` counts the responses with status 200. */
export const floodCold = async (
  origin: string,
  { requests, connections }: { readonly requests: number; readonly connections: number },
): Promise<{ requests: number; good: number }> => {
  const dispatcher = new Agent({ connections, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });
  const path = `${origin}/banks`;
  while (!(await request(`${origin}/healthz`).catch(() => undefined)));
  let good = 0;
  await Promise.all(
    Array.from({ length: requests }, async () => {
      const { statusCode, body } = await request(path, { dispatcher, headers: { 'accept-encoding': 'br' } });
      await body.dump();
      if (statusCode === 200) good += 1;
    }),
  );
  await dispatcher.close();
  return { requests, good };
};
