import { expect, test } from '@jest/globals';
import {
  InvalidValue,
  LOG_LEVELS,
  passwordsIn,
  toBytes,
  toCount,
  toDurationMs,
  toEgressProxy,
  toFieldNames,
  toFields,
  toHostNames,
  toHttpsUrl,
  toHttpUrl,
  toOneOf,
  toOrigins,
  toPort,
  toPortOrOff,
  toRedisUrl,
  toSecretWith,
  toShare,
  toSingleLine,
  toTrustedProxies,
} from '../../src/config/values.ts';

// Each kind of value at its exact bounds. What a whole configuration makes of them is in config.test.ts.

const LABEL = 'a'.repeat(63);
/** A name of 253 characters. */
const LONGEST_NAME = `${LABEL}.${LABEL}.${LABEL}.${'a'.repeat(61)}`;
const DAY = 86_400_000;
const MIB = 1024 * 1024;
const field = (name: string, from = name, isOptional = false) => ({ name, from, isOptional });

type Parse = (text: string) => unknown;

test.each<[kind: string, parse: Parse, values: readonly (readonly [text: string, value: unknown])[]]>([
  [
    'a port',
    toPort,
    [
      ['0', 0],
      ['65535', 65_535],
    ],
  ],
  [
    'a port or off',
    toPortOrOff,
    [
      ['off', 'off'],
      ['3001', 3_001],
    ],
  ],
  [
    'a list of host names',
    toHostNames,
    [
      ['A.Example.com., b_c, 1-2.x', ['a.example.com', 'b_c', '1-2.x']],
      [LONGEST_NAME, [LONGEST_NAME]],
      [`${LABEL}.b`, [`${LABEL}.b`]],
    ],
  ],
  ['a choice', toOneOf(['a', 'b']), [['b', 'b']]],
  [
    'a log level',
    toOneOf(LOG_LEVELS),
    ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'].map((level) => [level, level] as const),
  ],
  [
    'a duration',
    toDurationMs,
    [
      ['10ms', 10],
      ['9.5ms', 10],
      ['0.01s', 10],
      ['1.25s', 1_250],
      ['12m', 720_000],
      ['1h', 3_600_000],
      ['366d', 366 * DAY],
    ],
  ],
  [
    'a size',
    toBytes,
    [
      ['1b', 1],
      ['512KB', 512 * 1024],
      ['1.25kb', 1_280],
      ['1.5mb', 1.5 * MIB],
      ['256mb', 256 * MIB],
    ],
  ],
  [
    'a count',
    toCount,
    [
      ['0', 0],
      ['999999999', 999_999_999],
    ],
  ],
  [
    'a share',
    toShare,
    [
      ['0%', 0],
      ['12.5%', 0.125],
      ['0.25%', 0.0025],
      ['100%', 1],
    ],
  ],
  [
    'a list of fields',
    toFields,
    [
      ['a', [field('a')]],
      [' a , b:c , d? , e:f? ', [field('a'), field('b', 'c'), field('d', 'd', true), field('e', 'f', true)]],
      ['a:x,b:x', [field('a', 'x'), field('b', 'x')]],
    ],
  ],
  ['a list of field names', toFieldNames, [['a, b.c,ção', ['a', 'b.c', 'ção']]]],
  [
    'a list of origins',
    toOrigins,
    [
      ['*', '*'],
      ['https://a.example, http://localhost:5173', ['https://a.example', 'http://localhost:5173']],
    ],
  ],
  [
    'the proxies in front',
    toTrustedProxies,
    [
      ['0', 0],
      ['99', 99],
      ['10.0.0.0/8, ::1', ['10.0.0.0/8', '::1']],
    ],
  ],
  [
    'a text',
    toSingleLine,
    [
      ['x'.repeat(4_096), 'x'.repeat(4_096)],
      ['a b é', 'a b é'],
    ],
  ],
  [
    'an address',
    (text) => toHttpUrl(text).href,
    [
      ['http://a.example/x', 'http://a.example/x'],
      ['https://a.example', 'https://a.example/'],
    ],
  ],
  [
    'an address in production',
    (text) => toHttpsUrl(text).href,
    [['https://a.example', 'https://a.example/']],
  ],
  [
    'the address of Redis',
    (text) => toRedisUrl(text).reveal(),
    ['redis://h', 'rediss://u:p%25@h:6379/15', 'redis://h/12345', `redis://:${'x'.repeat(8_181)}@h`].map(
      (text) => [text, text] as const,
    ),
  ],
  [
    'the address of a proxy',
    (text) => {
      const { url, credentials } = toEgressProxy(text);
      return [url.href, credentials?.reveal()];
    },
    [
      ['http://proxy', ['http://proxy/', undefined]],
      ['proxy:3128', ['http://proxy:3128/', undefined]],
      ['https://:p%25@proxy/', ['https://proxy/', ':p%']],
      ['u@proxy', ['http://proxy/', 'u:']],
      [`http://u:${'x'.repeat(8_181)}@h`, ['http://h/', `u:${'x'.repeat(8_181)}`]],
    ],
  ],
  [
    'a bearer token of four characters or more',
    (text) => toSecretWith({ minChars: 4, bearer: true })(text).reveal(),
    ['!ab~', 'x'.repeat(8_192)].map((text) => [text, text] as const),
  ],
  [
    'a secret of three characters or more',
    (text) => toSecretWith({ minChars: 3, bearer: false })(text).reveal(),
    [['é\n ', 'é\n ']],
  ],
  [
    'the passwords in an address',
    passwordsIn,
    [
      ['redis://h', []],
      ['redis://:plain@h', ['plain']],
      ['redis://u:p%40ss@h', ['p%40ss', 'p@ss']],
    ],
  ],
])('%s is read', (_kind, parse, values) => {
  for (const [text, value] of values) expect([text, parse(text)]).toEqual([text, value]);
});

test.each<[kind: string, parse: Parse, texts: readonly string[]]>([
  ['a port', toPort, ['', '65536', '-1', '1.5', '000001', 'x1', '1x', '0x10', ' 1', '1 ']],
  ['a port or off', toPortOrOff, ['', 'on', '65536', 'off ']],
  [
    'a list of host names',
    toHostNames,
    [
      '',
      'a,',
      '-a',
      'a-',
      'a..b',
      'a b',
      'a:1',
      `${LONGEST_NAME}a`,
      `${LABEL}a.b`,
      `${LABEL}.${'a'.repeat(64)}`,
      '.a',
      '!a',
      'a!',
      'a.b..',
    ],
  ],
  ['a choice', toOneOf(['a', 'b']), ['', 'c', 'A', 'a ']],
  [
    'a duration',
    toDurationMs,
    [
      '9ms',
      '9.4ms',
      '0s',
      '5',
      's',
      '1.s',
      '.5s',
      '-5s',
      '5 s',
      'x5s',
      '5sx',
      '5S',
      '367d',
      '366.1d',
      '5w',
      '1e3s',
    ],
  ],
  [
    'a size',
    toBytes,
    ['0b', '0.4b', '1', 'kb', '1.kb', '-1kb', '1 kb', 'x1kb', '1kbx', '257mb', '256.1mb', '1gb'],
  ],
  ['a count', toCount, ['', '1.5', '-1', '1000000000', 'x1', '1x', ' 1']],
  ['a share', toShare, ['', '20', '0.2', '-1%', '100.1%', '101%', '1.%', '.5%', 'x1%', '1%x', '%']],
  [
    'a list of fields',
    toFields,
    [
      '',
      'a,',
      'a:',
      ':a',
      'a:b:c',
      'a??',
      '?',
      'a?:b',
      'a,a',
      'a:x,a:y',
      'a b',
      'a"',
      'a\\',
      '__proto__',
      'a:__proto__',
      'a\u200b',
    ],
  ],
  ['a list of field names', toFieldNames, ['', 'a,', 'a:b', 'a?', 'a b', '__proto__']],
  [
    'a list of origins',
    toOrigins,
    [
      '',
      'x',
      'https://a.example/',
      'https://A.example',
      'https://a.example:443',
      'ftp://a.example',
      'https://a.example,*',
      'xhttps://a.example',
      'file:///a',
    ],
  ],
  [
    'the proxies in front',
    toTrustedProxies,
    ['', '100', '-1', 'true', '*', '10.0.0.0/8,', '0.0.0.0/0', '10.0.0.0/33', 'localhost', 'loopback'],
  ],
  ['a text', toSingleLine, ['a\nb', 'a\0', 'x'.repeat(4_097), 'é'.repeat(2_049)]],
  [
    'an address',
    toHttpUrl,
    ['', 'a', 'ftp://a', 'http://u@a', 'http://:p@a', 'http://a?b', 'http://a?', 'http://a#b', 'http://a#'],
  ],
  ['an address in production', toHttpsUrl, ['http://a', 'a']],
  [
    'the address of Redis',
    toRedisUrl,
    [
      '',
      'h',
      'http://h',
      'redis://',
      'redis://h/x',
      'redis://h/1x',
      'redis://h/123456',
      'redis://h/1/2',
      'redis://%zz@h',
      'redis://:%@h',
      `redis://:${'x'.repeat(8_182)}@h`,
    ],
  ],
  [
    'the address of a proxy',
    toEgressProxy,
    [
      '',
      '://',
      'socks5://proxy',
      'http://proxy/path',
      'http://proxy?',
      'http://proxy/#a',
      'http://%@proxy',
      'http://u:%zz@proxy',
      `http://u:${'x'.repeat(8_182)}@h`,
    ],
  ],
  [
    'a bearer token',
    toSecretWith({ minChars: 4, bearer: true }),
    ['', 'abc', 'abc\\', 'abc d', 'abcd\n', 'abcdé', '\u007fabcd'],
  ],
  [
    'a secret',
    toSecretWith({ minChars: 1, bearer: false }),
    ['', '\\', 'a\0', 'x'.repeat(8_193), 'é'.repeat(4_097)],
  ],
])('%s is not read from anything else', (_kind, parse, texts) => {
  for (const text of texts) {
    const refusal = (): unknown => {
      try {
        return parse(text);
      } catch (error) {
        return error;
      }
    };
    expect([text, refusal()]).toEqual([text, expect.any(InvalidValue)]);
  }
});

test.each([
  ['', 'is empty'],
  ['abc', 'has fewer than 4 characters, not counting backslashes'],
  [
    'ab cd',
    'has a character that a header cannot carry, such as a space (the word Bearer does not belong to a token) or a line break',
  ],
  ['x'.repeat(8_193), 'has more than 8192 bytes'],
])('of a secret it is said what is wrong and what is needed', (secret, problem) => {
  expect(() => toSecretWith({ minChars: 4, bearer: true })(secret)).toThrow(
    new InvalidValue(`${problem}; it needs 4 to 8192 visible ASCII characters`),
  );
});

test('a secret that is not a bearer token may have any character but NUL', () => {
  expect(() => toSecretWith({ minChars: 1, bearer: false })('a\0b')).toThrow(
    new InvalidValue('has a NUL character; it needs 1 to 8192 bytes of text'),
  );
});
