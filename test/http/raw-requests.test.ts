import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startBothPaths, type BothPaths } from '../helpers/both-paths.ts';
import { sendRaw, type RawAnswer } from '../helpers/raw-http.ts';
import { ANSWERED, REFUSED } from '../helpers/raw-requests.ts';
import type { Rig } from '../helpers/rig.ts';
import { eventually } from '../helpers/wait-until.ts';

// Requests as bytes, odd and hostile. What mutations of them do: npm run soak.

let paths: BothPaths;
beforeAll(async () => {
  paths = await startBothPaths();
});
afterAll(() => paths.close());

/**
 * What helmet sets on every answer. That the host name has HTTPS is not this service's to promise.
 */
const expectSecured = ({ headers }: RawAnswer): void => {
  expect(Object.fromEntries(headers)).toMatchObject({
    'content-security-policy': "default-src 'none';frame-ancestors 'none'",
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  });
  expect(headers.has('strict-transport-security')).toBe(false);
};
/** The log has a line of it, by which it can be found. */
const expectLogged = async (rig: Rig, { status, headers }: RawAnswer): Promise<void> => {
  const id = headers.get('x-request-id');
  const find = () => rig.requests().find(({ requestId }) => requestId === id);
  await eventually(() => find() !== undefined);
  expect(find()).toMatchObject({ statusCode: status });
};
/** What every error answer has, whoever gave it: the application or the parser. */
const expectProblem = (answer: RawAnswer): void => {
  const { status, headers, body } = answer;
  expect(Object.fromEntries(headers)).toMatchObject({
    'content-type': 'application/problem+json',
    'cache-control': 'no-store',
    'x-request-id': expect.stringMatching(/^[\w-]{14,}$/),
    date: expect.any(String),
  });
  expectSecured(answer);
  expect(headers.get('allow')).toBe(status === 405 ? 'GET, HEAD, OPTIONS' : undefined);
  expect(JSON.parse(body)).toEqual({
    type: expect.stringMatching(/^urn:problem-type:banks-bff:[a-z-]+$/),
    title: expect.any(String),
    status,
    detail: expect.not.stringContaining('secret'),
    code: expect.stringMatching(/^[a-z_]+$/),
  });
};
const statusesOf = (answers: readonly RawAnswer[]): number[] => answers.map(({ status }) => status);

test.each(REFUSED)('both ports refuse with problem+json: %s', async (_name, bytes, statuses) => {
  const answers = await paths.ask(bytes);
  expect(statusesOf(answers)).toEqual(statuses);
  // The management port refuses as the public one, and has no /banks.
  const others = await sendRaw(paths.hot.managementUrl, bytes.replaceAll('/banks', '/healthz'));
  expect(statusesOf(others)).toEqual(statuses);
  for (const answer of [...answers, ...others]) {
    if (answer.status < 400) continue;
    expectProblem(answer);
    await expectLogged(paths.hot, answer);
  }
});

test.each(ANSWERED)(
  'with HOT_PATH on and off, the response is the same to: %s',
  async (_name, bytes, statuses) => {
    const answers = await paths.ask(bytes);
    expect(statusesOf(answers)).toEqual(statuses);
    answers.forEach(expectSecured);
  },
);
