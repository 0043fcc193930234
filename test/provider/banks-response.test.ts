import { expect, test } from '@jest/globals';
import { processBanksResponse } from '../../src/provider/banks-response.ts';
import { EVERY_FIELD } from '../helpers/read-banks.ts';

// What an answer's status, Retry-After and label mean; what counts as a list is in
// test/banks/reading.

const NOW = Date.UTC(2026, 0, 1);
const ANSWER = {
  status: 200,
  contentType: 'application/json',
  retryAfter: undefined,
  date: undefined,
  link: undefined,
};

const check = (
  answer: Partial<Record<'contentType' | 'retryAfter' | 'date', string | undefined>> & {
    status?: number;
  },
) =>
  processBanksResponse({ ...ANSWER, ...answer, body: Buffer.from('[{"name":"a"}]') }, EVERY_FIELD, {
    nowMs: NOW,
  });

test.each([
  undefined,
  'Application/JSON; charset=UTF-8',
  'application/json;charset="utf-8"',
  'text/json',
  'application/hal+json',
  'application/json ; version=1',
  'application/json; charset=utf8',
  'application/vnd.a.v1+hal+json',
  'model/gltf+json',
  'application/vnd.a_b$c+json',
  `application/vnd.${'a'.repeat(118)}+json; charset=utf-8; profile="${'b'.repeat(500)}"`,
  'application/json; profile="a;charset=x"; charset=utf-8',
  'application/json; profile="a\\";charset=x"; charset="UTF-8"',
])('a body that is labelled %p is read', async (contentType) => {
  expect((await check({ contentType })).count).toBe(1);
});

test.each([
  'text/html',
  'application/jsonp',
  'x-application/json',
  'application/+json',
  'application/json; version=1; charset=iso-8859-1',
  'application/json; charset=utf-81',
  'application/json; charset=x; charset=utf-8',
  'application/json; charset=charset=utf-8',
  'application/json; profile="a;charset=utf-8"; charset=x',
  'application/json; charset="utf-8;x"',
  'application/json, text/html',
  'application/json-seq',
  'application/hal+json+gzip',
  'application/hal+jsonp',
  'application/a b+json',
  'hal+json',
  `application/json${' '.repeat(1_024)};`,
  '',
])('a body that is labelled %p is malformed', async (contentType) => {
  await expect(check({ contentType })).rejects.toMatchObject({ kind: 'malformed' });
});

test.each([
  ['30', 30_000],
  [' 0 ', 0],
  [new Date(NOW + 90_000).toUTCString(), 90_000],
  [new Date(NOW - 90_000).toUTCString(), 0],
  ['soon', undefined],
  ['-5', undefined],
  ['1.5', undefined],
  [undefined, undefined],
])('a Retry-After of %p is %p ms, on 429 and 503 alone', async (retryAfter, retryAfterMs) => {
  for (const status of [429, 503])
    await expect(check({ status, retryAfter })).rejects.toMatchObject({ retryAfterMs });
  await expect(check({ status: 403, retryAfter })).rejects.toMatchObject({
    retryAfterMs: undefined,
  });
});

const MINUTES = 60_000;
const dateOf = (ms: number): string => new Date(ms).toUTCString();

test.each([
  ['10 min ahead', dateOf(NOW + 10 * MINUTES), dateOf(NOW + 10 * MINUTES + 3_000), 3_000],
  ['10 min behind', dateOf(NOW - 10 * MINUTES), dateOf(NOW - 10 * MINUTES + 3_000), 3_000],
  ['10 min behind, a past date', dateOf(NOW - 10 * MINUTES), dateOf(NOW - 11 * MINUTES), 0],
  ['ahead, with seconds', dateOf(NOW + 10 * MINUTES), '3', 3_000],
  ['not an HTTP-date', '2026-01-01T00:00:00Z', dateOf(NOW + 3_000), 3_000],
])(
  'a Retry-After date counts from the Date of the response: %s',
  async (_name, date, retryAfter, retryAfterMs) => {
    await expect(check({ status: 503, date, retryAfter })).rejects.toMatchObject({ retryAfterMs });
  },
);

test.each([
  [201, 'unexpected_status'],
  [304, 'unexpected_status'],
  [429, 'rate_limited'],
  [499, 'unexpected_status'],
  [500, 'unavailable'],
  [599, 'unavailable'],
])(
  'a response with status %d is a failure of its kind, whatever the body is: %s',
  async (status, kind) => {
    await expect(check({ status })).rejects.toMatchObject({
      kind,
      upstreamStatus: status,
      message: expect.stringMatching(/^the provider /),
    });
  },
);
