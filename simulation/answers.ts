import type { LoadErrorKind } from '../src/banks/load-error.ts';
import type { BankVersion } from './bank-versions.ts';

// What the provider and the token endpoint can answer: the behaviours of emulator/behaviours.ts, by the same names, but as
// data and without compressed bodies.

export interface Answer {
  readonly status: number;
  /** An empty `retry-after` stands for the value that is in force. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** What becomes of it: refused at once; reset; never answered; half of it and then nothing, the end, or single spaces. */
  readonly course: 'whole' | 'refuse' | 'reset' | 'never' | 'stall' | 'cut' | 'drip';
  /** The kinds of failure that a load may have because of it. */
  readonly excuses: readonly LoadErrorKind[];
  /** A usable list, which replicas must take unless the guard refuses it, or a token. */
  readonly isGood: boolean;
}

interface Row {
  readonly needsToken: boolean;
  readonly answer: (version: BankVersion) => Answer;
}

const JSON_TYPE = { 'content-type': 'application/json' };
const GUARDED: readonly LoadErrorKind[] = ['shrunk', 'drifted', 'missing_field'];

type Change = (version: BankVersion) => Partial<Answer>;

const list = (change: Change = () => ({})): Row => ({
  needsToken: true,
  answer: (version) => ({
    status: 200,
    headers: JSON_TYPE,
    body: version.body,
    course: 'whole',
    excuses: GUARDED,
    isGood: true,
    ...change(version),
  }),
});

const body = (excuse: LoadErrorKind, text: (version: BankVersion) => string): Row =>
  list((version) => ({ isGood: false, excuses: [excuse, 'missing_field'], body: text(version) }));

/** An answer that is no list, whatever the token is. */
const failure = (excuse: LoadErrorKind, change: Partial<Answer>): Row => ({
  ...list(() => ({ isGood: false, excuses: [excuse], ...change })),
  needsToken: false,
});

/** Entries that are not published, each for a reason of its own. */
const UNUSABLE = [
  '[]',
  '{}',
  '{"ispb":" ","a \\" b":null}',
  '{"ispb":9007199254740993}',
  '{"ispb":{"__proto__":{}}}',
];
const NOT_JSON = ['{"banks": [', '[{}', '[{}] and more', '[{},]', '['.repeat(40)];

/** The largest body that the service takes; see `PROVIDER_MAX_BODY` in replica.ts. */
export const MAX_BODY_BYTES = 18_432;

export const ANSWERS = {
  healthy: list(),
  /** With two entries before the end of the first part that is read at once, a byte order mark of three bytes and a space. */
  'largest-body': list(({ body: text }) => ({
    body: `\uFEFF ${text.replace('},{', `},${' '.repeat(MAX_BODY_BYTES - text.length - 4)}{`)}`,
  })),
  /** The first again, or another that is not published: at most a fifth of all. */
  'some-unusable': list(({ body: text, banks, shape: { renames } }) => {
    const odd = [JSON.stringify(banks[0]), ...UNUSABLE];
    const count = Math.floor(banks.length / 5);
    const some = Array.from({ length: count }, (_, index) => `,${odd[(renames + index) % odd.length]}`);
    return { body: text.replace(/\]$/, `${some.join('')}]`) };
  }),
  refuse: failure('unreachable', { course: 'refuse' }),
  reset: failure('unreachable', { course: 'reset' }),
  hang: failure('timeout', { course: 'never' }),
  stall: failure('timeout', { course: 'stall' }),
  'cut-short': failure('malformed', { course: 'cut' }),
  drip: failure('timeout', { course: 'drip' }),
  unauthorized: failure('unauthorized', { status: 401, headers: {} }),
  'rate-limited': failure('rate_limited', { status: 429, headers: { 'retry-after': '' } }),
  'server-error': failure('unavailable', { status: 500, headers: {} }),
  unavailable: failure('unavailable', { status: 503, headers: { 'retry-after': '' } }),
  redirect: failure('unexpected_status', { status: 302, headers: { location: 'http://127.0.0.1:9/' } }),
  html: failure('malformed', { headers: { 'content-type': 'text/html' }, body: '<p>later' }),
  'not-json': body('malformed', ({ shape: { renames } }) => NOT_JSON[renames % NOT_JSON.length] ?? ''),
  null: body('not_a_list', () => 'null'),
  'too-large': body('too_large', ({ body: text }) => text.padEnd(MAX_BODY_BYTES + 1)),
  empty: body('too_few', () => '[]'),
  'most-unusable': body('unusable_entries', ({ banks }) =>
    JSON.stringify([...banks, ...banks.map((_, index) => index)]),
  ),
} satisfies Record<string, Row>;

export type AnswerName = keyof typeof ANSWERS;

const granted: Answer = {
  status: 200,
  headers: JSON_TYPE,
  body: '',
  course: 'whole',
  excuses: [],
  isGood: true,
};
const refused = (code: number, text: string, change: Partial<Answer> = {}): Answer => ({
  ...granted,
  status: code,
  body: text,
  excuses: ['no_token'],
  isGood: false,
  ...change,
});

export const GRANTS = {
  healthy: granted,
  'no-expires-in': granted,
  /** The one that was granted before, for what is left of its life, though the provider accepts it no more. */
  'same-token': { ...granted, excuses: ['unauthorized'] },
  'rejected-token': { ...granted, excuses: ['unauthorized'] },
  reset: refused(200, '', { course: 'reset', excuses: ['unreachable'] }),
  hang: refused(200, '', { course: 'never', excuses: ['timeout'] }),
  stall: refused(200, '{"access_token":"never whole"}', { course: 'stall', excuses: ['timeout'] }),
  'server-error': refused(500, 'no', { excuses: ['unavailable'] }),
  'invalid-client': refused(401, '{"error":"invalid_client"}'),
  'no-grant': refused(200, '{"error":"of another kind"}'),
  moved: refused(302, ''),
  'another-type': refused(200, '{"access_token":"x","token_type":"DPoP"}', { headers: {} }),
  'too-long': refused(200, JSON.stringify({ access_token: 'x'.repeat(9_000), token_type: 'Bearer' })),
  'rate-limited': refused(429, 'no', { headers: { 'retry-after': '30' }, excuses: ['rate_limited'] }),
} satisfies Record<string, Answer>;

export type GrantName = keyof typeof GRANTS;
