import { beforeAll, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { ALL_BANKS, emulate } from '../helpers/emulate.ts';
import { startProcess, type ServiceProcess } from '../helpers/process.ts';

// No head costs more than three times the CPU time of a plain one of its length: the built service
// is sent the most expensive heads that are known, and a plain one in turn.

const LONGEST_HEAD = 15_500;
const LONGEST_TARGET = 7_900;
const REQUESTS = 200;
const ROUNDS = 9;
const MOST = 3;

const fill = (text: string, length: number): string =>
  text.repeat(Math.ceil(length / text.length)).slice(0, length);
const withHeaders = (headers: string, line = 'HEAD /banks'): string =>
  `${line} HTTP/1.1\r\nHost: a\r\n${headers}\r\n`;
const withHeader = (name: string, text: string, length = LONGEST_HEAD): string =>
  withHeaders(`${name}: ${fill(text, length)}\r\n`);

const HEADS: Readonly<Record<string, string>> = {
  'many names': withHeaders(
    Array.from({ length: 90 }, (_, index) => `${index}:${fill('a', 160)}\r\n`).join(''),
  ),
  'one short name': withHeaders(fill('a:\r\n', LONGEST_HEAD)),
  'one name that Node joins': withHeaders('cookie:a\r\n'.repeat(90)),
  'If-None-Match, of tags': withHeader('If-None-Match', '"a",'),
  'If-None-Match, of quotes': withHeader('If-None-Match', '"'),
  'If-None-Match, of weak tags': withHeader('If-None-Match', 'W/"",'),
  'If-None-Match, of commas': withHeader('If-None-Match', ', '),
  'Accept-Encoding, of codings': withHeader('Accept-Encoding', 'a;q=0.1,'),
  'Accept-Encoding, of spaces': withHeader('Accept-Encoding', 'gzip  ;'),
  'X-Forwarded-For, of addresses': withHeader('X-Forwarded-For', '::1,'),
  'X-Forwarded-For, of nonsense': withHeader('X-Forwarded-For', 'a,'),
  'Traceparent, of zeros': withHeader('Traceparent', '00-'),
  'X-Request-Id, of characters': withHeader('X-Request-Id', 'a'),
  'If-Modified-Since, of digits': withHeader('If-Modified-Since', '1 '),
  'Origin, of dots': withHeader('Origin', 'https://a.'),
  'a long host': `HEAD /banks HTTP/1.1\r\nHost: ${fill('xn--', LONGEST_HEAD)}\r\n\r\n`,
  'a query of escapes': withHeaders('', `HEAD /banks?${fill('%41&a=', LONGEST_TARGET)}`),
  'a path of escapes': withHeaders('', `HEAD /${fill('%41/', LONGEST_TARGET)}`),
  'a path of slashes': withHeaders('', `HEAD /${fill('/', LONGEST_TARGET)}`),
  'an absolute target': withHeaders('', `HEAD http://${fill('a.', LONGEST_TARGET)}/banks`),
};

let service: ServiceProcess;
beforeAll(async () => {
  const provider = await emulate({ banks: ALL_BANKS });
  const env = { PROVIDER_SANDBOX_BASE_URL: provider.baseUrl, TRUST_PROXY: '1', LOG_LEVEL: 'warn' };
  service = await startProcess(env);
  await (await fetch(`${service.url}/banks`)).text();
});

/** Of the service, in clock ticks. */
const cpuTicks = (): number => {
  const fields = readFileSync(`/proc/${service.child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ');
  return Number(fields?.[11]) + Number(fields?.[12]);
};

/** Sends it on connections that the service ends after each, as it may refuse it. */
const ticksOf = async (head: string): Promise<number> => {
  const before = cpuTicks();
  for (let count = 0; count < REQUESTS; count += 1) {
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
    socket.on('error', () => undefined).resume();
    socket.end(head.replace('\r\n', '\r\nConnection: close\r\n'));
    await once(socket, 'close');
  }
  return cpuTicks() - before;
};

test.each(Object.entries(HEADS))('%s', async (_name, head) => {
  const plain = withHeader('X', 'a', Math.min(head.length, LONGEST_HEAD));
  let [ticks, plainTicks] = [0, 0];
  for (let round = 0; round < ROUNDS; round += 1) {
    plainTicks += await ticksOf(plain);
    ticks += await ticksOf(head);
    if (round >= 2 && ticks < MOST * plainTicks) break;
  }
  expect(ticks / plainTicks).toBeLessThan(MOST);
});
