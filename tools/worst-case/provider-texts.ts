import { readList } from '../../src/banks/reading/list-reader.ts';
import { nearestName } from '../../src/nearest-name.ts';
import { readGrant, readTokenError } from '../../src/provider/grant.ts';
import { namesNextPage } from '../../src/provider/provider.ts';
import { toStatusError } from '../../src/provider/status.ts';
import { createRedaction } from '../../src/secrets/redaction.ts';
import { PROVIDER_TOKEN_RULE } from '../../src/secrets/secret.ts';
import { NESTED, repeat, SHAPES, startingWith, type Shape } from './shapes.ts';
import {
  listOf,
  objectOf,
  ignoringErrors,
  ignoringRejections,
  type TextPlace,
} from './text-place.ts';

// What the provider and the token endpoint send.

export const SHORT_ENTRIES = listOf((index) => `{"code":"${index}"}`, 'entries of a field');

export const LISTS: readonly Shape[] = [
  SHORT_ENTRIES,
  listOf(() => '{}', '{}'),
  listOf(() => '[]', '[]'),
  listOf(() => '0', 'numbers'),
  listOf(() => '""', 'empty texts'),
  listOf((index) => `{"code":"${index}","x":${'['.repeat(28)}${']'.repeat(28)}}`, 'nested arrays'),
  listOf((index) => `{"code":"${index}","x":1.0000000000000001}`, 'long numbers'),
  listOf((index) => `{"code":"${index}","x":"${'\\u0041'.repeat(100)}"}`, 'escapes'),
  listOf((index) => `{"code":"${index}","x":"${'\\"'.repeat(100)}"}`, 'quotes'),
  listOf((index) => `{"code":"${index}","x":[${'0,'.repeat(1_000)}0]}`, 'long arrays'),
  listOf((index) => `{"code":"${index}","x":"${'1'.repeat(1_000)}"}`, 'digits'),
  listOf((index) => `{"code":${'0.0'.padEnd(1_000, '0')}${index}}`, 'numbers of 1,000 digits'),
  listOf((index) => `{"${index}a":1,"${index}b":2,"${index}c":3}`, 'a new name in each entry'),
  listOf(() => '{"code":"1"}', 'the same entry'),
  listOf((index) => `{"code":"${' '.repeat(500)}${index}"}`, 'blanks'),
  listOf((index) => `{"code":"${'a'.repeat(60_000)}${index}"}`, 'long texts'),
  listOf((index) => `{"code":"${'%41'.repeat(20_000)}${index}"}`, 'long encoded texts'),
];

const LONGEST_HEADER = 15_500;

/** In a text of one letter, a search for all of it compares half of it at each character. */
const { addSecret, findEcho } = createRedaction();
addSecret('SECRET', `${'a'.repeat(4_000)}b${'a'.repeat(4_000)}`);

const GRANT = '{"access_token":"a","token_type":"Bearer","expires_in":3600,';
const GRANTS: readonly Shape[] = [
  ...[
    ['{', '}'],
    [GRANT, '}'],
    ['{"error":"invalid_client",', '}'],
  ].flatMap(([start = '', end = '']) => [
    objectOf((index) => `"${index}":0`, `${start} names`, [start, end]),
    objectOf((index) => `"${index}":{}`, `${start} names of objects`, [start, end]),
    objectOf(() => '"a":"\\u0041"', `${start} escapes`, [start, end]),
  ]),
  ...['access_token', 'token_type', 'expires_in', 'error'].flatMap((name) =>
    SHAPES.map((shape): Shape => ({
      name: `${name}: ${shape.name}`,
      text: (length) => {
        const member = (text: string): string =>
          JSON.stringify({ access_token: 'a', [name]: text });
        // Escapes take two characters.
        return member(shape.text(Math.max(0, length - 40)).slice(0, (length - 40) / 2));
      },
    })),
  ),
  NESTED,
  listOf(() => '{}', '{}'),
  listOf(() => '0', 'numbers'),
];
export const PROVIDER_PLACES: readonly TextPlace[] = [
  {
    name: "the provider's list",
    longest: 400_000,
    plain: SHORT_ENTRIES,
    shapes: [...LISTS, ...SHAPES],
    reader: ignoringRejections((text) =>
      readList(Buffer.from(text), {
        fields: ['code', 'name'].map((name) => ({ name, from: name })),
        requiredFields: [],
        maxBytes: 5_242_880,
        findEcho,
      }),
    ),
  },
  {
    name: "the provider's Link",
    longest: LONGEST_HEADER,
    shapes: [
      ...SHAPES,
      ...[';rel="', '; rel ', ';rel=', ';rel="next', '; '].map((unit) => repeat(unit)),
      startingWith(';', repeat(' ')),
      startingWith(';rel', repeat(' ')),
      startingWith(';rel="', repeat('nex ')),
    ],
    reader: ignoringErrors(namesNextPage),
  },
  {
    name: "the provider's Retry-After",
    longest: LONGEST_HEADER,
    shapes: SHAPES,
    reader: ignoringErrors((retryAfter) =>
      toStatusError(
        'the provider',
        { status: 503, headers: { 'retry-after': retryAfter, date: retryAfter } },
        0,
      ),
    ),
  },
  {
    name: "the provider's names of fields",
    longest: 12_800,
    shapes: SHAPES,
    reader: ignoringErrors((text) => nearestName('shortName', text.match(/.{1,64}/gs) ?? [])),
  },
  {
    name: "the token endpoint's grant",
    longest: 65_536,
    plain: SHORT_ENTRIES,
    shapes: [...GRANTS, ...SHAPES],
    reader: ignoringErrors((text) =>
      readGrant(Buffer.from(text), 200, { field: 'access_token', rule: PROVIDER_TOKEN_RULE }),
    ),
  },
  {
    name: "the token endpoint's refusal",
    longest: 65_536,
    plain: SHORT_ENTRIES,
    shapes: [...GRANTS, ...SHAPES],
    reader: ignoringErrors((text) => readTokenError(Buffer.from(text), 400)),
  },
];
