import { expect, test } from '@jest/globals';
import {
  describeWithNginx,
  describeWithVarnish,
  startNginx,
  startVarnish,
} from '../helpers/caching-proxy.ts';
import { BANKS } from '../helpers/emulate.ts';
import { startLoadedRig } from '../helpers/rig.ts';
import { eventually } from '../helpers/wait-until.ts';

// Real caches in front of the service: what docs/deployment.md says of them, and of CDNs that work
// alike.

const ALLOWED = 'https://a.example.com';
const OTHER = 'https://b.example.com';
const STRANGER = 'https://evil.example.com';

const CACHES = [
  ['nginx', describeWithNginx, startNginx, ['br', 'br', null], 3],
  // It keeps gzip only, and decompresses for a client that does not take it.
  ['Varnish', describeWithVarnish, startVarnish, [null, 'gzip', null], 1],
] as const;

for (const [name, describeWithIt, startCache, encodings, copies] of CACHES) {
  describeWithIt(`behind ${name}`, () => {
    const start = async (origins: string, maxAge = '1h') => {
      const env = { CORS_ORIGINS: origins, BROWSER_MAX_AGE: maxAge };
      const rig = await startLoadedRig({ env });
      const cache = await startCache(rig.url);
      return {
        get: async (headers: Readonly<Record<string, string>> = {}): Promise<Response> => {
          const response = await fetch(`${cache.url}/banks`, {
            headers: { 'Accept-Encoding': 'gzip', ...headers },
          });
          // As undici does it for a page: it decompresses.
          expect(await response.json()).toHaveLength(BANKS.length);
          return response;
        },
        /** The statuses with which the service answered what came through. */
        asked: (): unknown[] => rig.requests('/banks').map(({ statusCode }) => statusCode),
      };
    };
    const allowedOrigin = ({ headers }: Response): string | null =>
      headers.get('access-control-allow-origin');

    test('CORS_ORIGINS=*: one copy serves the pages of every origin', async () => {
      const { get, asked } = await start('*');
      for (const headers of [{}, { Origin: ALLOWED }, { Origin: OTHER }, { Origin: STRANGER }]) {
        const response = await get(headers);
        expect(allowedOrigin(response)).toBe('*');
        expect(response.headers.get('vary')).toBe('Accept-Encoding');
      }
      expect(asked()).toEqual([200]);
    });

    test('a list in CORS_ORIGINS: a copy for each origin, and no other page gets the headers of an allowed one', async () => {
      const { get, asked } = await start(`${ALLOWED},${OTHER}`);
      for (let round = 0; round < 2; round += 1) {
        for (const origin of [ALLOWED, OTHER, STRANGER]) {
          const response = await get({ Origin: origin });
          expect(allowedOrigin(response)).toBe(origin === STRANGER ? null : origin);
          expect(response.headers.get('vary')).toMatch(/\bOrigin\b/);
        }
      }
      expect(asked()).toEqual([200, 200, 200]);
    });

    test('each client gets an encoding that it takes', async () => {
      const { get, asked } = await start('*');
      const seen: (string | null)[] = [];
      for (const accepted of ['br', 'gzip, br', 'identity'])
        seen.push((await get({ 'Accept-Encoding': accepted })).headers.get('content-encoding'));
      expect(seen).toEqual(encodings);
      expect(asked()).toHaveLength(copies);
    });

    test('after max-age the old copy is served at once, and revalidated in the background with a 304', async () => {
      const { get, asked } = await start('*', '1s');
      await get();
      await eventually(async () => {
        await get();
        return asked().length > 1;
      });
      expect(asked().slice(0, 2)).toEqual([200, 304]);
    }, 20_000);
  });
}
