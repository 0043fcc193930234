import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createRandom, mutate } from '../../kit/random.ts';
import { sendRaw, type RawAnswer } from '../../kit/raw-http.ts';
import { ANSWERED, PIECES_OF_REQUESTS, REFUSED } from '../../kit/raw-requests.ts';
import { eventually, startRig, type Rig } from '../../kit/rig.ts';

let rig: Rig;
let rigs: readonly Rig[] = [];
beforeAll(async () => {
  rig = await startRig();
  rigs = [rig, await startRig({ env: { HOT_PATH: 'off' } })];
  await eventually(() => rigs.every(({ service }) => service.list.served() !== undefined));
});
afterAll(async () => {
  for (const each of rigs) await each.close();
});

/** The answers with HOT_PATH=on and off. */
const sendToBoth = async (bytes: string): Promise<RawAnswer[][]> =>
  Promise.all(rigs.map(({ url }) => sendRaw(url, bytes)));

/** Also the management port's, which refuses as the public one, and has no /banks. */
const sendToAll = async (bytes: string): Promise<RawAnswer[][]> => [
  ...(await sendToBoth(bytes)),
  await sendRaw(rig.operatorsUrl, bytes.replaceAll('/banks', '/healthz')),
];

/** What every error answer has, whoever gave it: the application or the parser. */
const expectProblem = ({ status, headers, body }: RawAnswer): void => {
  expect(headers.get('content-type')).toBe('application/problem+json');
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.get('x-request-id')).toMatch(/^[\w-]{14,}$/);
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.has('date')).toBe(true);
  const problem: unknown = JSON.parse(body);
  expect(problem).toEqual({
    type: expect.stringMatching(/^urn:problem-type:banks-bff:[a-z-]+$/),
    title: expect.any(String),
    status,
    detail: expect.any(String),
    code: expect.stringMatching(/^[a-z_]+$/),
  });
};

describe('refused with problem+json', () => {
  test.each(REFUSED)('%s', async (_name, bytes, statuses) => {
    const isRefusal = statuses.every((status) => status >= 400);
    const all = await (isRefusal ? sendToAll(bytes) : sendToBoth(bytes));
    for (const answers of all) expect(answers.map(({ status }) => status)).toEqual(statuses);
    for (const answer of all.flat().filter(({ status }) => status >= 400)) {
      expectProblem(answer);
      expect(answer.headers.get('allow')).toBe(answer.status === 405 ? 'GET, HEAD, OPTIONS' : undefined);
      expect(answer.body).not.toContain('secret');
    }
  });
});

test.each(ANSWERED)('answered: %s', async (_name, bytes, statuses) => {
  for (const answers of await sendToBoth(bytes))
    expect(answers.map(({ status }) => status)).toEqual(statuses);
});

test('2,000 mutated requests bring no 5xx, no malformed answer and no hang', async () => {
  const seed = Number(process.hrtime.bigint() % 2n ** 31n);
  const random = createRandom(seed);
  const pick = <T>(items: readonly T[]): T | undefined => items[Math.floor(random() * items.length)];
  const originals = [...REFUSED, ...ANSWERED]
    .map(([, bytes]) => bytes)
    .filter((bytes) => bytes.length > 0 && bytes.length < 2_000);
  let left = 2_000;
  const seen = new Map<number, number>();
  const run = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      let bytes = pick(originals) ?? '';
      for (let times = 1 + random() * 3; times > 0; times -= 1)
        bytes = mutate(bytes, random, PIECES_OF_REQUESTS);
      const context = `seed ${seed}: ${JSON.stringify(bytes)}`;
      const methods = bytes.includes('HEAD') ? ['HEAD'] : [];
      const answers = await sendRaw(rig.url, Buffer.from(bytes, 'latin1'), { methods }).catch(
        (error: unknown) => {
          throw new Error(context, { cause: error });
        },
      );
      for (const { status } of answers) {
        if (status >= 500) throw new Error(`${status} for ${context}`);
        seen.set(status, (seen.get(status) ?? 0) + 1);
      }
    }
  };
  await Promise.all(Array.from({ length: 64 }, run));
  expect(Math.min(...seen.keys())).toBe(200);
  expect((await fetch(`${rig.url}/healthz`)).status).toBe(200);
}, 60_000);
