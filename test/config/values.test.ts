import { expect, test } from '@jest/globals';
import * as requestValues from '../../src/config/request-values.ts';
import * as values from '../../src/config/values.ts';
import { createClientAddress } from '../../src/http/client-address.ts';
import { MAX_LIST_ENTRIES } from '../../src/json.ts';
import { PROVIDER_SECRET_RULE, ruleFor } from '../../src/secrets/secret.ts';

// Each kind of value at its exact bounds. What a whole configuration makes of them is in
// config.test.ts.

const LABEL = 'a'.repeat(63);
/** A name of 253 characters. */
const LONGEST_NAME = `${LABEL}.${LABEL}.${LABEL}.${'a'.repeat(61)}`;
const DAY = 86_400_000;
const MIB = 1024 * 1024;
const field = (name: string, from = name, isOptional = false) => ({ name, from, isOptional });
/** Passwords with which an address has 8,192 bytes, and one more. */
const [LONGEST, TOO_LONG] = ['x'.repeat(8_181), 'x'.repeat(8_182)];
const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];
const toBearer = values.toSecretWith({ minChars: 4, bearer: true });
const toPlainSecret = values.toSecretWith(ruleFor('sandbox', PROVIDER_SECRET_RULE));
const toRedis = (text: string): string => values.toRedisUrl(text).reveal();
const toProxy = (text: string) => {
  const { url, credentials } = values.toEgressProxy(text);
  return [url.href, credentials?.reveal()];
};

/** The texts between the bars. */
const each = (texts: string): string[] => texts.split('|');

type Parse = (text: string) => unknown;
const listOf = (count: number, item: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => item(index)).join(',');
const LISTS: readonly [parse: Parse, item: (index: number) => string][] = [
  [values.toHostNames, (index) => `a${index}`],
  [values.toFields, (index) => `a${index}`],
  [values.toFieldNames, (index) => `a${index}`],
  [values.toOrigins, (index) => `http://a${index}`],
  [values.toTrustedProxies, (index) => `10.0.0.${index}`],
];
const asIs = (texts: readonly string[]) => Object.fromEntries(texts.map((text) => [text, text]));

test.each<[kind: string, parse: Parse, read: Record<string, unknown>]>([
  ['a port', values.toPort, { '0': 0, '65535': 65_535 }],
  ['a port or off', values.toPortOrOff, { off: 'off', '3001': 3_001 }],
  [
    'host names',
    values.toHostNames,
    { 'A.Example.com., b_c, 1-2.x.': ['a.example.com', 'b_c', '1-2.x'] },
  ],
  [
    'long host names',
    values.toHostNames,
    { [LONGEST_NAME]: [LONGEST_NAME], [`${LABEL}.b`]: [`${LABEL}.b`] },
  ],
  [
    'a host to listen on',
    values.toListenHost,
    asIs(each('0.0.0.0|::|::1|fe80::1%eth0|127.1|localhost|a.b-c.example.|b_c|bänke.example')),
  ],
  ['the longest name of one', values.toListenHost, asIs([LONGEST_NAME])],
  ['a choice', values.toOneOf(['a', 'b']), { b: 'b' }],
  ['a log level', values.toOneOf(values.LOG_LEVELS), asIs(LEVELS)],
  [
    'a short duration',
    values.toDurationMs,
    { '10ms': 10, '9.5ms': 10, '0.01s': 10, '1.25s': 1_250 },
  ],
  ['a long duration', values.toDurationMs, { '12m': 720_000, '1h': 3_600_000, '366d': 366 * DAY }],
  ['a size', values.toBytes, { '1b': 1, '512KB': 512 * 1024, '1.25kb': 1_280, '16mb': 16 * MIB }],
  ['a number of entries', values.toEntryCount, { '0': 0, [MAX_LIST_ENTRIES]: MAX_LIST_ENTRIES }],
  ['a share', values.toShare, { '0%': 0, '12.5%': 0.125, '0.25%': 0.0025, '100%': 1 }],
  ['fields', values.toFields, { a: [field('a')], 'a:x,b:x': [field('a', 'x'), field('b', 'x')] }],
  [
    'optional fields',
    values.toFields,
    { ' d? , e:f? ': [field('d', 'd', true), field('e', 'f', true)] },
  ],
  ['field names', values.toFieldNames, { 'a, b.c,ção': ['a', 'b.c', 'ção'] }],
  [
    'origins',
    values.toOrigins,
    { '*': '*', 'https://a, http://b:5173': ['https://a', 'http://b:5173'] },
  ],
  ['hops in front', values.toTrustedProxies, { '0': 0, '99': 99 }],
  ['proxies in front', values.toTrustedProxies, { '10.0.0.0/8, ::1': ['10.0.0.0/8', '::1'] }],
  ['a text', values.toSingleLine, asIs(['x'.repeat(4_096), 'a b é'])],
  [
    'an address',
    (text) => values.toHttpUrl(text).href,
    asIs(['http://a.example/x', 'https://a.example/']),
  ],
  [
    'a token endpoint',
    (text) => {
      const { url, query } = values.toTokenEndpoint(text);
      return [url.href, query?.reveal()];
    },
    {
      'http://a/token': ['http://a/token', undefined],
      'http://a/token?': ['http://a/token', undefined],
      'https://a/token?b=c&d=/?é': ['https://a/token', '?b=c&d=/?%C3%A9'],
    },
  ],
  [
    'a query',
    (text) => requestValues.toQuery(text).reveal(),
    asIs(each('pageSize=1000|a=b&c=%20/?d|key')),
  ],
  [
    'members of the request for a token',
    (text) => requestValues.toTokenParams(text).reveal(),
    asIs(['audience=a%20b&resource=c']),
  ],
  ['the path of a token', values.toTokenPath, asIs(['accessToken', 'data.token'])],
  [
    'header lines',
    (text) => requestValues.headersIn(requestValues.toHeaderLines(text).reveal()),
    {
      'X-Api-Key: a:b ;x-b:c': [
        ['x-api-key', 'a:b'],
        ['x-b', 'c'],
      ],
      'x-a: b c\r\n\nx-b: d\n': [
        ['x-a', 'b c'],
        ['x-b', 'd'],
      ],
    },
  ],
  [
    'an address in production',
    (text) => values.toHttpsUrl(text).href,
    asIs(['https://a.example/']),
  ],
  [
    'the address of Redis',
    toRedis,
    asIs(['redis://h', 'rediss://u:p%25@h:6379/15', 'redis://h/12345']),
  ],
  ['the longest password of Redis', toRedis, asIs([`redis://:${LONGEST}@h`])],
  ['a password of signs', toRedis, asIs([`redis://:${'@'.repeat(19)}@h`])],
  ['the address of a proxy', toProxy, { 'http://proxy': ['http://proxy/', undefined] }],
  ['that of one with a user', toProxy, { 'u:p@p:3128': ['http://p:3128/', 'u:p'] }],
  ['that of one with a password', toProxy, { 'https://:p%25@proxy/': ['https://proxy/', ':p%'] }],
  [
    'that of one with the longest',
    toProxy,
    { [`http://u:${LONGEST}@h`]: ['http://h/', `u:${LONGEST}`] },
  ],
  ['that of one in IPv6', toProxy, { 'http://u@[::1]:3128': ['http://[::1]:3128/', 'u:'] }],
  ['a bearer token', (text) => toBearer(text).reveal(), asIs(['!ab~', 'x'.repeat(8_192)])],
  ['a secret', (text) => toPlainSecret(text).reveal(), asIs(['é\t '])],
  ['passwords', values.passwordsIn, { 'redis://h': [], 'redis://:plain@h': ['plain'] }],
  ['encoded passwords', values.passwordsIn, { 'redis://u:p%40ss@h': ['p%40ss', 'p@ss'] }],
])('%s is read', (_kind, parse, read) => {
  for (const [text, value] of Object.entries(read))
    expect([text, parse(text)]).toEqual([text, value]);
});

/** Of every refusal: what is wrong or what would be right, in words. */
const SAYS_WHAT_IS_WRONG = {
  name: 'InvalidValue',
  message: expect.stringMatching(/^(?:is|has|must|publishes) .{5,}/),
};

test.each<[kind: string, parse: Parse, texts: readonly string[]]>([
  ['a port', values.toPort, each('|65536|-1|1.5|000001|x1|1x|0x10| 1|1 ')],
  ['a port or off', values.toPortOrOff, each('|on|65536|off ')],
  ['host names', values.toHostNames, each('|a,|-a|a-|a..b|a b|a:1|.a|!a|a!|a.b..|*.a|https://a')],
  [
    'long host names',
    values.toHostNames,
    [`${LONGEST_NAME}a`, `${LABEL}a.b`, `${LABEL}.${'a'.repeat(64)}`],
  ],
  [
    'a host to listen on',
    values.toListenHost,
    each(
      '|*|*.a|[::]|[::1]:3000|0.0.0.0:3000|a:1|http://0.0.0.0|0.0.0.0/0|a b| ::|::,a|a..b|-a|a-',
    ),
  ],
  [
    'an address of no version',
    values.toListenHost,
    each('256.0.0.1|1.2.3.4.5|1::2::3|127.0.0.1%lo'),
  ],
  ['a long one', values.toListenHost, [`${LONGEST_NAME}a`, `${LABEL}a`]],
  ['a choice', values.toOneOf(['a', 'b']), each('|c|A|a ')],
  [
    'a duration',
    values.toDurationMs,
    each('9ms|9.4ms|0s|5|1.s|.5s|-5s|5 s|x5s|5sx|5s5|367d|366.1d|1e3s'),
  ],
  ['a unit', values.toDurationMs, each('s|5S|5w|1constructor|constructor')],
  ['a size', values.toBytes, each('0b|0.4b|1|kb|1.kb|-1kb|1 kb|x1kb|1kbx|17mb|16.1mb|1gb')],
  ['a query', requestValues.toQuery, each('?a=b|a=b#c|a b|é=1|a=b\n')],
  [
    'members of the request for a token',
    requestValues.toTokenParams,
    each('=a|grant_type=a|a=b&client_secret=c|?a=b'),
  ],
  ['the path of a token', values.toTokenPath, each('|.a|a..b|a b')],
  [
    'header lines',
    requestValues.toHeaderLines,
    [
      ...each(';|a|a b: c|: c|a:|a: é|Authorization: b|accept: b|Host: b|content-length: 1'),
      'a: b;A: c',
    ],
  ],
  [
    'a number of entries',
    values.toEntryCount,
    [...each('|1.5|-1|1000000000|x1|1x| 1'), String(MAX_LIST_ENTRIES + 1)],
  ],
  ['a share', values.toShare, each('|20|0.2|-1%|100.1%|101%|1.%|.5%|x1%|1%x|%')],
  ['fields', values.toFields, each('|a,|a:|:a|a:b:c|a??|?|a?:b|a,a|a,a?|a:x,a:y')],
  ['the name of a field', values.toFields, each('a b|a"|a\\|a\u200b|__proto__|a:__proto__')],
  ['field names', values.toFieldNames, each('|a,|a:b|a?|a b|__proto__')],
  [
    'origins',
    values.toOrigins,
    each('|x|https://a/|https://A|https://a:443|https://a,*|xhttps://a'),
  ],
  [
    'origins of one user or page',
    values.toOrigins,
    each('https://user@a.example|https://a.example?'),
  ],
  [
    'patterns of origins',
    values.toOrigins,
    each('https://*.example|https://*|https://a*.example|http://a:*|*.example'),
  ],
  ['origins of another protocol', values.toOrigins, each('ftp://a|file:///a')],
  [
    'proxies in front',
    values.toTrustedProxies,
    each('|100|-1|true|*|localhost|loopback|x|10.0.0.0/8,'),
  ],
  ['all addresses', values.toTrustedProxies, each('0.0.0.0/0|::/0|10.0.0.0/8,::/0')],
  [
    'ranges',
    values.toTrustedProxies,
    each('10.0.0.0/33|10.0.0.1/00|::1.2.3.4|10.0.0.0/8/8|::1/129'),
  ],
  ['a text', values.toSingleLine, ['a\nb', 'a\0', 'x'.repeat(4_097), 'é'.repeat(2_049)]],
  ['an address', values.toHttpUrl, each('|a|ftp://a|http://u@a|http://:p@a')],
  ['an address of a page', values.toHttpUrl, each('http://a?b|http://a?|http://a#b|http://a#')],
  [
    'a token endpoint',
    values.toTokenEndpoint,
    each('|a|?a|ftp://a|http://u@a|http://:p@a?b|http://a#|http://a?b#c|http://a?b c'),
  ],
  ['an address in production', values.toHttpsUrl, each('http://a|a')],
  ['the address of Redis', values.toRedisUrl, each('|h|http://h|redis://')],
  [
    'the database of Redis',
    values.toRedisUrl,
    each('redis://h/x|redis://h/1x|redis://h/123456|redis://h/1/2'),
  ],
  [
    'the address of Redis with more than that',
    values.toRedisUrl,
    each(
      'redis://h?|redis://h/0?db=2|redis://h?timeout=1s|redis://h/1#|redis://u:p@h#2|redis://p#w@h',
    ),
  ],
  [
    'the password of Redis',
    values.toRedisUrl,
    each(`redis://%zz@h|redis://:%@h|redis://:${TOO_LONG}@h|redis://:${'@'.repeat(20)}@h`),
  ],
  [
    'a proxy',
    values.toEgressProxy,
    each('|://|socks5://p|http://u:p@|http://p/path|http://p?|http://p/#a|a b'),
  ],
  [
    'the password of a proxy',
    values.toEgressProxy,
    each(`http://%@p|http://u:%zz@p|http://u:${TOO_LONG}@h`),
  ],
  ['a bearer token', toBearer, each('|abc|abc d|abcd\n|abcdé|\u007fabcd')],
  ['a secret', toPlainSecret, ['', 'a\0', 'x'.repeat(8_193), 'é'.repeat(4_097)]],
])('%s: nothing else is read', (_kind, parse, texts) => {
  for (const text of texts) {
    const refusal = (): unknown => {
      try {
        return parse(text);
      } catch (error) {
        return error;
      }
    };
    expect([text, refusal()]).toEqual([text, expect.objectContaining(SAYS_WHAT_IS_WRONG)]);
  }
});

test('the longest host and the longest lists are read', () => {
  expect(values.toHttpUrl(`https://${LONGEST_NAME}:8443/a`).hostname).toBe(LONGEST_NAME);
  for (const [parse, item] of LISTS) expect(parse(listOf(100, item))).toHaveLength(100);
});

const NEEDS = 'it needs 4 to 8192 visible ASCII characters';
test.each<[parse: Parse, text: string, problem: string]>([
  [values.toPort, 'off', 'is not a port; use a number from 0 to 65535 (0 picks a free one)'],
  [values.toPortOrOff, 'on', 'is not a port; use a number from 0 to 65535, or off'],
  [toBearer, '', `is empty; ${NEEDS}`],
  [toBearer, 'abc', `has fewer than 4 characters; ${NEEDS}`],
  [
    toBearer,
    'ab cd',
    'has a character that a header cannot carry, such as a space; it needs 4 to 8192 visible ASCII',
  ],
  [toBearer, 'x'.repeat(8_193), `has more than 8192 bytes; ${NEEDS}`],
  [
    toPlainSecret,
    'a\0b',
    'has more than one line, or a NUL character; keep the line with the secret; it needs 1 to 8192 bytes of text',
  ],
  ...LISTS.map(([parse, item]): [Parse, string, string] => [
    parse,
    listOf(101, item),
    'has more than 100 entries',
  ]),
  ...[
    `https://${LONGEST_NAME}a`,
    `https:/\\/user@${LONGEST_NAME}a:80/`,
    `https:${LONGEST_NAME}a?`,
  ].map((url): [Parse, string, string] => [
    values.toHttpUrl,
    url,
    'has a host name of more than 253 characters',
  ]),
  [values.toHttpUrl, 'https://\n/a', 'is not an address'],
])('it is said what is wrong and what is needed', (parse, text, problem) => {
  expect(() => parse(text)).toThrow(problem);
});

test('whatever addresses of proxies are read, Express can use', () => {
  for (const addresses of [
    '10.0.0.0/8',
    '2001:db8::/32',
    '::ffff:10.0.0.1',
    'fe80::1%eth0',
    '127.0.0.1,::1',
  ])
    expect(() => createClientAddress(values.toTrustedProxies(addresses))).not.toThrow();
});
