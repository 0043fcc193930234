import { expect, test } from '@jest/globals';
import { parseConfig, type Config } from '../../src/config/config.ts';
import {
  GRANT,
  problemsOf,
  REQUIRED_IN_PRODUCTION,
  REQUIRED_IN_SANDBOX,
} from '../helpers/config.ts';

// What each variable may hold, and what it is then in the configuration.

const DAY = 86_400_000;
const each = (texts: string): string[] => texts.split('|');
const field = (name: string, from = name, isOptional = false) => ({ name, from, isOptional });

test.each<[name: string, read: (config: Config) => unknown, Record<string, unknown>]>([
  ['PORT', ({ listen }) => listen.port, { '0': 0, '65535': 65_535 }],
  ['MANAGEMENT_PORT', ({ management }) => management.listen?.port, { off: undefined, '0': 0 }],
  ['MANAGEMENT_HOSTS', ({ management }) => management.hosts, { 'A.b, c-d.e': ['a.b', 'c-d.e'] }],
  [
    'PROVIDER_TIMEOUT',
    ({ provider }) => provider.timeoutMs,
    { '10ms': 10, '9.5ms': 10, '0.01s': 10, '1.25s': 1_250, '12m': 720_000, '366d': 366 * DAY },
  ],
  [
    'PROVIDER_MAX_BODY',
    ({ provider }) => provider.maxBodyBytes,
    { '1b': 1, '512KB': 524_288, '1.25kb': 1_280, '16mb': 16_777_216 },
  ],
  [
    'HTTPS_PROXY',
    ({ provider: { proxies } }) => proxies.HTTPS_PROXY?.reveal(),
    { 'u:p%25@p:3128': 'http://u:p%25@p:3128', 'https://[::1]:3128/': 'https://[::1]:3128/' },
  ],
  [
    'BANK_FIELDS',
    ({ banks }) => banks.fields,
    {
      'a, b:x,c:y.z': [field('a'), field('b', 'x'), field('c', 'y.z')],
      'd? , e:f? ': [field('d', 'd', true), field('e', 'f', true)],
    },
  ],
  ['BANK_REQUIRED_FIELDS', ({ banks }) => banks.requiredFields, { 'a, ção': ['a', 'ção'] }],
  ['GUARD_MIN_BANKS', ({ guard }) => guard.minBanks, { '0': 0, '500': 500 }],
  ['GUARD_MAX_SHRINK', ({ guard }) => guard.maxShrink, { '0%': 0, '12.5%': 0.125, '100%': 1 }],
  [
    'CORS_ORIGINS',
    ({ corsOrigins }) => corsOrigins,
    {
      '*': '*',
      'https://a, http://b:5173': ['https://a', 'http://b:5173'],
      'capacitor://localhost': ['capacitor://localhost'],
    },
  ],
  [
    'TRUST_PROXY',
    ({ trustProxy }) => trustProxy,
    { '0': 0, '99': 99, '10.0.0.0/8, ::1': ['10.0.0.0/8', '::1'] },
  ],
])('%s is read', (name, read, values) => {
  for (const [text, value] of Object.entries(values))
    expect([text, read(parseConfig({ ...REQUIRED_IN_SANDBOX, [name]: text }))]).toEqual([
      text,
      value,
    ]);
});

test.each<[name: string, ...right: string[]]>([
  ['PROVIDER_HEADERS', 'X-Api-Key: a:b ;x-b:c', 'a: b\nc: d\n'],
  ['CACHE_REDIS_URL', 'rediss://u:p%25@h:6379/15', 'redis://h', 'redis://h/'],
  ['PROVIDER_CLIENT_SECRET', 'é "\\ '],
])('%s may be like these: %s', (name, ...right) => {
  const env =
    name === 'PROVIDER_CLIENT_SECRET' ? { ...REQUIRED_IN_SANDBOX, ...GRANT } : REQUIRED_IN_SANDBOX;
  for (const text of right)
    expect([text, problemsOf({ ...env, [name]: text })]).toEqual([text, []]);
});

test.each<[name: string, wrong: readonly string[]]>([
  ['PORT', each('65536|-1|1.5|000001|x1|1x|0x10| 1|off')],
  ['MANAGEMENT_PORT', each('on|65536|off ')],
  ['MANAGEMENT_HOSTS', each('a,|a b|a:1|!a|*.a|https://a')],
  ['PROVIDER_ENVIRONMENT', each('Sandbox|test|sandbox ')],
  [
    'PROVIDER_SANDBOX_BASE_URL',
    each('a|ftp://a|http://u@a|http://:p@a|http://a?b|http://a?|http://a#'),
  ],
  ['PROVIDER_PRODUCTION_BASE_URL', each('http://a|a')],
  [
    'PROVIDER_ACCESS_TOKEN',
    ['a b', 'a"b', 'a\\b', 'a\nb', 'é', '\u007f', 'Bearer x', 'x'.repeat(8_193)],
  ],
  ['PROVIDER_TOKEN_URL', each('?a|ftp://a|HTTP://a|http://u@a|http://:p@a?b|http://a#')],
  ['PROVIDER_CLIENT_SECRET', ['a\0b', 'a\nb', 'é'.repeat(4_097)]],
  ['PROVIDER_TOKEN_FORMAT', each('JSON|xml')],
  ['PROVIDER_TOKEN_AUTH', each('Basic|none')],
  ['PROVIDER_TOKEN_PARAMS', each('=a|grant_type=a|a=b&client_secret=c|?a=b|a b')],
  ['PROVIDER_TOKEN_FIELD', each('.a|a..b|a b')],
  ['PROVIDER_QUERY', each('?a=b|a=b#c|a b|é=1|a=b\n')],
  ['PROVIDER_HEADERS', each(';|a|a b: c|: c|a:|a: é|a: b;A: c')],
  ['PROVIDER_HEADERS', each('Authorization: b|accept: b|Host: b|content-length: 1')],
  ['HTTPS_PROXY', each('://|socks5://p|http://u:p@|http://p/path|http://p?|a b|http://u:%zz@p')],
  [
    'PROVIDER_TIMEOUT',
    each('9ms|9.4ms|0s|5|1.s|.5s|-5s|5 s|x5s|5sx|367d|1e3s|s|5S|5w|1constructor'),
  ],
  ['PROVIDER_MAX_BODY', each('0b|0.4b|1|kb|1.kb|-1kb|1 kb|17mb|16.1mb|1gb')],
  [
    'BANK_FIELDS',
    each('a,|:a|a:|a:b:c|a??|?|a?:b|a,a|a,a?|a b|a"|a\\|a\u200b|__proto__|a:__proto__'),
  ],
  ['BANK_REQUIRED_FIELDS', each('a,|a:b|a?|a b|__proto__')],
  ['BANK_LIST', each('.a|a..b|a b')],
  ['CACHE_REDIS_URL', each('h|http://h|redis://|redis://h/x|redis://h/1/2')],
  ['CACHE_REDIS_URL', each('redis://h?|redis://h/0?db=2|redis://p#w@h|redis://%zz@h|redis://:%@h')],
  ['CACHE_SIGNING_KEY', ['x'.repeat(31)]],
  ['GUARD_MIN_BANKS', each('1.5|-1|x1|1x| 1')],
  ['GUARD_MAX_SHRINK', each('20|0.2|-1%|100.1%|101%|1.%|.5%|x1%|1%x|%')],
  ['CORS_ORIGINS', each('x|https://a/|https://A|https://a,*|https://u@a|https://a?')],
  ['CORS_ORIGINS', each('https://*.example|http://a:*|*.example|file:///a|app://|tauri://A')],
  ['TRUST_PROXY', each('-1|true|*|localhost|10.0.0.0/8,|0.0.0.0/0|::/0|10.0.0.0/33')],
  ['HOT_PATH', each('yes|ON')],
  ['LOG_LEVEL', each('warning')],
  // As docker --env-file keeps them.
  ['PROVIDER_ACCESS_TOKEN', ['"a-token"', "'a-token'"]],
  ['CACHE_TTL', ['"1h"']],
])('%s may not be anything else', (name, wrong) => {
  const needed = name.startsWith('PROVIDER_PRODUCTION')
    ? REQUIRED_IN_PRODUCTION
    : REQUIRED_IN_SANDBOX;
  for (const text of wrong) {
    const problems = problemsOf({ ...needed, [name]: text });
    const said = problems.find((line) => line.startsWith(`${name}: `));
    expect([text, said]).toEqual([text, expect.stringMatching(/: (?:is|has|must|begins) .{5,}/)]);
  }
});
