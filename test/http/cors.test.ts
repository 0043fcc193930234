import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { askRaw, sendRaw } from '../helpers/raw-http.ts';
import { startLoadedRig, type Rig } from '../helpers/rig.ts';

// Which pages of other origins may read what. That the hot path answers alike: hot-path.test.ts.

const FRONTEND = 'https://app.example.com';
const LOCAL = 'http://localhost:5173';
const APP = 'capacitor://localhost';
const STRANGER = 'https://evil.example.com';

let rig: Rig;
const start = async (CORS_ORIGINS: string, HOT_PATH = 'on'): Promise<void> => {
  rig = await startLoadedRig({ env: { CORS_ORIGINS, HOT_PATH } });
};
const ask = (line: string, origin?: string, ...fields: string[]) => {
  const own = origin === undefined ? [] : [`Origin: ${origin}`];
  return askRaw(rig.url, `${line} HTTP/1.1`, 'Host: a', ...own, ...fields);
};
const PREFLIGHT = 'Access-Control-Request-Method: GET';

/** Of `/banks`, of its preflight and of an error. */
interface Told {
  readonly vary: readonly (string | undefined)[];
  readonly resourcePolicy: string;
  /**
   * The origin that is allowed to read the answers to these origins; the first is that of no page.
   */
  readonly allowed: Readonly<Record<string, string | undefined>>;
}
const LISTED: Told = {
  vary: ['Accept-Encoding, Origin', 'Origin', 'Origin'],
  resourcePolicy: 'cross-origin',
  allowed: {
    '': undefined,
    [FRONTEND]: FRONTEND,
    [LOCAL]: LOCAL,
    [STRANGER]: undefined,
    null: undefined,
    // What comes close to an allowed origin is another one.
    [`${FRONTEND}/`]: undefined,
    [`${FRONTEND}:443`]: undefined,
    'http://app.example.com': undefined,
    'HTTPS://APP.EXAMPLE.COM': undefined,
  },
};
test.each<[what: string, origins: string, told: Told]>([
  [
    'unset, no response depends on the origin or lets another one read it',
    '',
    {
      vary: ['Accept-Encoding', undefined, undefined],
      resourcePolicy: 'same-origin',
      allowed: { '': undefined, [FRONTEND]: undefined },
    },
  ],
  [
    '*, every page may read and still no response depends on the origin',
    '*',
    {
      vary: ['Accept-Encoding', undefined, undefined],
      resourcePolicy: 'cross-origin',
      allowed: { '': '*', [STRANGER]: '*' },
    },
  ],
  [
    'exact origins, each response names the allowed one, and every response varies by it',
    `${FRONTEND},${LOCAL}`,
    LISTED,
  ],
  [
    'origins of apps, these too',
    `${APP},${LOCAL}`,
    { ...LISTED, allowed: { ...LISTED.allowed, [FRONTEND]: undefined, [APP]: APP } },
  ],
])('with CORS_ORIGINS %s', async (_what, origins, { vary, resourcePolicy, allowed }) => {
  await start(origins);
  for (const [text, reader] of Object.entries(allowed)) {
    const origin = text === '' ? undefined : text;
    const [list, preflight, error] = [
      await ask('GET /banks', origin),
      await ask('OPTIONS /banks', origin, PREFLIGHT),
      await ask('DELETE /banks', origin),
    ];
    expect([list.status, preflight.status, error.status]).toEqual([200, 204, 405]);
    for (const [index, { headers }] of [list, preflight, error].entries()) {
      expect([text, headers.get('access-control-allow-origin')]).toEqual([text, reader]);
      expect(headers.get('access-control-expose-headers')).toBe(
        reader && 'ETag, Cache-Status, Retry-After, X-Request-Id',
      );
      expect(headers.has('access-control-allow-credentials')).toBe(false);
      expect(headers.get('vary')).toBe(vary[index]);
      expect(headers.get('cross-origin-resource-policy')).toBe(resourcePolicy);
    }
    expect(preflight.headers.get('access-control-allow-methods')).toBe(reader && 'GET, HEAD');
    const unchanged = await ask('GET /banks', origin, 'If-None-Match: *');
    expect([unchanged.status, unchanged.headers.get('vary')]).toEqual([304, vary[0]]);
  }
  // Of what never became a request, nobody knows the origin.
  const [refusal] = await sendRaw(rig.url, 'garbage\r\n\r\n');
  expect([refusal?.status, refusal?.headers.get('access-control-allow-origin')]).toEqual([
    400,
    allowed[''],
  ]);
});

test('a preflight is told what docs/api.md says, for two hours', async () => {
  await start(FRONTEND);
  const { headers } = await ask('OPTIONS /banks', FRONTEND, PREFLIGHT);
  const [, sentence = ''] =
    /a preflight allows: ([^.]*)\./.exec(readFileSync('docs/api.md', 'utf8')) ?? [];
  const named = [...sentence.matchAll(/`([^`]+)`/g)].map(([, name]) => name);
  expect(headers.get('access-control-allow-headers')?.split(', ')).toEqual(named);
  expect(headers.get('access-control-max-age')).toBe('7200');
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.has('content-length')).toBe(false);
  expect(headers.get('allow')).toBe('GET, HEAD, OPTIONS');
});
