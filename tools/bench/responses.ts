import { readFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';

// The service's own responses, recorded once, so that every other program sends the same bytes.

export interface Response {
  readonly status: number;
  /** Names and values in turn, without those that belong to one response or connection. */
  readonly headers: readonly string[];
  readonly etag: string;
  readonly body: Buffer;
}

/** What a server needs to answer GET /banks in one coding. */
export interface Prepared {
  readonly etag: string;
  readonly headers: string[];
  readonly notModifiedHeaders: string[];
  readonly body: Buffer;
}

export type Coding = 'br' | 'identity';

const OF_ONE_RESPONSE = /^(?:date|connection|keep-alive|x-request-id)$/i;

/** One request on a connection of its own; `fetch` would decode the content. */
export const ask = (url: string, headers: Readonly<Record<string, string>>): Promise<Response> =>
  new Promise((resolve, reject) => {
    get(url, { headers, agent: false }, (res) => {
      const chunks: Buffer[] = [];
      res.on('data', (chunk: Buffer) => chunks.push(chunk));
      res.on('error', reject);
      res.on('end', () =>
        resolve({
          status: res.statusCode ?? 0,
          headers: res.rawHeaders.filter(
            (_, index, all) => !OF_ONE_RESPONSE.test(all[index - (index % 2)] ?? ''),
          ),
          etag: res.headers.etag ?? '',
          body: Buffer.concat(chunks),
        }),
      );
    }).on('error', reject);
  });

export const record = async (url: string, file: string): Promise<void> => {
  const prepare = async (coding: Coding) => {
    const ok = await ask(url, { 'Accept-Encoding': coding });
    const notModified = await ask(url, { 'Accept-Encoding': coding, 'If-None-Match': ok.etag });
    if (ok.status !== 200 || notModified.status !== 304)
      throw new Error(`${url} sends ${ok.status} and ${notModified.status}, not 200 and 304`);
    return {
      etag: ok.etag,
      headers: ok.headers,
      notModifiedHeaders: notModified.headers,
      body: ok.body.toString('base64'),
    };
  };
  const responses = { br: await prepare('br'), identity: await prepare('identity') };
  writeFileSync(file, JSON.stringify(responses));
};

/** For the programs in peers/. */
export const readRecorded = (file: string): Record<Coding, Prepared> => {
  const { br, identity }: Record<Coding, Prepared & { body: string }> = JSON.parse(
    readFileSync(file, 'utf8'),
  );
  const decode = (one: typeof br): Prepared => ({ ...one, body: Buffer.from(one.body, 'base64') });
  return { br: decode(br), identity: decode(identity) };
};
