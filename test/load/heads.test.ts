import { expect, test } from '@jest/globals';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { ALL_BANKS, emulate } from '../helpers/emulate.ts';
import { startProcess } from '../helpers/process.ts';

// No head costs more than three times the CPU time of a plain one of its length: the built service
// is sent the most expensive heads that are known, and a plain one in turn.

const REQUESTS = 200;
const ROUNDS = 9;
/** What is promised. */
const MOST = 3;
/** The hot path leaves heads of more than 8 KiB to node:http. */
const LENGTHS = [
  { longest: 7_500, method: 'GET' },
  { longest: 15_500, method: 'HEAD' },
] as const;

const repeat = (text: string, length: number): string =>
  text.repeat(Math.ceil(length / text.length)).slice(0, length);

/** Most of them in one header, of a repeated text. */
const HEADERS: readonly (readonly [name: string, repeated: string])[] = [
  ['If-None-Match', '"a",'],
  ['If-None-Match', '"'],
  ['If-None-Match', 'W/"",'],
  ['If-None-Match', ', '],
  ['Accept-Encoding', 'a;q=0.1,'],
  ['Accept-Encoding', 'gzip  ;'],
  ['X-Forwarded-For', '::1,'],
  ['X-Forwarded-For', 'a,'],
  ['Traceparent', '00-'],
  ['X-Request-Id', 'a'],
  ['If-Modified-Since', '1 '],
  ['Origin', 'https://a.'],
  ['Host', 'xn--'],
];
/** Of the hot path and of Express, whose plain requests cost several times as much. */
const TARGETS = { GET: ['/banks?%41&a='], HEAD: ['/banks?%41&a=', '/%41/', '//', 'http://a./'] };

const plainHead = (method: string, length: number): string =>
  `${method} /banks HTTP/1.1\r\nHost: a\r\nX: ${repeat('a', length - 40)}\r\n\r\n`;
const headsOf = (method: keyof typeof TARGETS, longest: number): Record<string, string> => {
  const start = `${method} /banks HTTP/1.1\r\nHost: a\r\n`;
  const many = Array.from({ length: 90 }, (_, index) => `${index}:`.padEnd(longest / 90 - 2, 'a'));
  return {
    '90 names': `${start}${many.join('\r\n')}\r\n\r\n`,
    '90 of one name, which Node joins': `${start}${'cookie:a\r\n'.repeat(90)}\r\n`,
    'as many names as fit': `${start}${repeat('a:\r\n', longest - 40)}\r\n`,
    ...Object.fromEntries(
      HEADERS.map(([name, text]) => [
        `${name} of ${text}`,
        `${start.replace('Host: a\r\n', name === 'Host' ? '' : 'Host: a\r\n')}${name}: ${repeat(text, longest - 60)}\r\n\r\n`,
      ]),
    ),
    ...Object.fromEntries(
      TARGETS[method].map((text) => [
        `target of ${text}`,
        `${method} ${repeat(text, longest - 60)} HTTP/1.1\r\nHost: a\r\n\r\n`,
      ]),
    ),
  };
};

test('no head costs more than three times the CPU time of a plain one of its length', async () => {
  const provider = await emulate({ banks: ALL_BANKS });
  const env = { PROVIDER_SANDBOX_BASE_URL: provider.baseUrl, TRUST_PROXY: '1' };
  const service = await startProcess(env);
  await (await fetch(`${service.url}/banks`)).text();
  const port = Number(new URL(service.url).port);

  /** Of the service, in clock ticks. */
  const cpuTicks = (): number => {
    const stat = readFileSync(`/proc/${service.child.pid}/stat`, 'utf8');
    const [userTicks, systemTicks] = stat.split(') ')[1]?.split(' ').slice(11) ?? [];
    return Number(userTicks) + Number(systemTicks);
  };
  /** Sends it on a connection for each, as it may be refused. */
  const ticksOf = async (head: string): Promise<number> => {
    const before = cpuTicks();
    for (let count = 0; count < REQUESTS; count += 1) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined).resume();
      socket.end(head);
      await once(socket, 'close');
    }
    return cpuTicks() - before;
  };

  const ratios: Record<string, number> = {};
  for (const { longest, method } of LENGTHS)
    for (const [name, head] of Object.entries(headsOf(method, longest))) {
      const plain = plainHead(method, head.length);
      let [ticks, plainTicks] = [0, 0];
      for (let round = 0; round < ROUNDS; round += 1) {
        plainTicks += await ticksOf(plain);
        ticks += await ticksOf(head);
        if (round > 0 && ticks < MOST * plainTicks) break;
      }
      ratios[`${method}, ${name}`] = ticks / plainTicks;
    }
  process.stdout.write(`${JSON.stringify(ratios, undefined, 2)}\n`);
  expect(Object.entries(ratios).filter(([, ratio]) => !(ratio < MOST))).toEqual([]);
});
