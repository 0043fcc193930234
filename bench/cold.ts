import { Agent, request } from 'undici';
import { CHROME, look, type Looked } from './load.ts';

// What the bench asks of the service besides being fast: its answers, to be sent by others, and a flood before the
// first list.

const PER_REQUEST = /^(date|connection|keep-alive|x-request-id)$/i;

/** The service's answers in the form that bench/peers read. */
export const answersIn = async (
  url: string,
  { browser, identity }: Record<'browser' | 'identity', Looked>,
) => {
  const fieldsOf = ({ rawHeaders }: Looked): string[][] =>
    rawHeaders.flatMap((name, index) => (index % 2 === 0 ? [[name, rawHeaders[index + 1] ?? '']] : []));
  const toAnswer = async (looked: Looked) => {
    const held = await look(url, { ...CHROME, 'If-None-Match': looked.etag });
    const kept = (fields: string[][]): string[][] => [
      ['X-Request-Id', 'AbCdEfGhIjKl-123456'],
      ...fields.filter(([name = '']) => !PER_REQUEST.test(name)),
    ];
    return {
      etag: looked.etag,
      body: looked.body.toString('base64'),
      fields: kept(fieldsOf(looked)),
      notModifiedFields: kept(fieldsOf(held)),
    };
  };
  return { br: await toAnswer(browser), identity: await toAnswer(identity) };
};

/** Sends all requests at once, as soon as the service listens; tells how they ended. */
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
