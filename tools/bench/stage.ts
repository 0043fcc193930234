import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench } from './bench.ts';
import { inspect, type Inspected } from './load.ts';
import type { Stage } from './peers.ts';
import { freePort, start } from './processes.ts';
import { check, CHROME, type Checked } from './scenarios.ts';
import { SERVICE, startService, waitUntilReady } from './service.ts';

// What the peers need: the service's responses in a form that other servers can send, and a server
// that sends them.

export interface OpenStage extends Stage {
  /** The list as the service publishes it, without compression. */
  readonly list: Buffer;
  close(): Promise<void>;
}

export const openStage = async ({ emulator, directory }: Bench): Promise<OpenStage> => {
  const servicePort = await freePort();
  const url = `http://127.0.0.1:${servicePort}/banks`;
  const service = await startService(emulator, servicePort);
  await waitUntilReady(url);
  const own = await check(SERVICE, url);
  const responsesFile = join(directory, 'responses.json');
  writeFileSync(responsesFile, JSON.stringify(await recordResponses(url, own)));
  await service.stop();

  const [originPort, gzipOriginPort] = [await freePort(), await freePort()];
  const ports = [originPort, gzipOriginPort].map(String);
  const origin = await start([
    [process.execPath, 'tools/bench/peers/origin.js', responsesFile, ...ports],
  ]);
  await waitUntilReady(`http://127.0.0.1:${originPort}/`);
  return {
    directory,
    responsesFile,
    originPort,
    gzipOriginPort,
    list: own.identity.body,
    close: () => origin.stop(),
  };
};

const PER_REQUEST = /^(date|connection|keep-alive|x-request-id)$/i;

/** The service's responses in the form that the servers in tools/bench/peers read. */
const recordResponses = async (url: string, { browser, identity }: Checked) => {
  const headersOf = ({ rawHeaders }: Inspected): string[][] =>
    rawHeaders.flatMap((name, index) =>
      index % 2 === 0 ? [[name, rawHeaders[index + 1] ?? '']] : [],
    );
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
