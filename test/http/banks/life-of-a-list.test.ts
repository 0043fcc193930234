import { afterEach, describe, expect, test } from '@jest/globals';
import { sendRaw } from '../../kit/raw-http.ts';
import { eventually, startRig, type Rig } from '../../kit/rig.ts';

describe('over the life of a list', () => {
  let rig: Rig;
  afterEach(() => rig.close());
  const head = async () => {
    const [answer] = await sendRaw(rig.url, 'HEAD /banks HTTP/1.1\r\nHost: a\r\n\r\n', { methods: ['HEAD'] });
    return answer?.headers;
  };
  const hasList = () => rig.service.list.served() !== undefined;
  const hasFailed = () => rig.service.list.status().failure !== undefined;

  test('the headers follow it from fresh to stale, and Cache-Status says why it is stale', async () => {
    rig = await startRig({ env: { BROWSER_MAX_AGE: '5m', CACHE_TTL: '1h' } });
    await eventually(hasList);
    const changed = (await head())?.get('last-modified');
    expect((await head())?.get('cache-status')).toBe('banks-bff; hit; ttl=3600');

    rig.clock.advance(3_400_500);
    expect((await head())?.get('cache-status')).toBe('banks-bff; hit; ttl=199');
    expect((await head())?.get('cache-control')).toMatch(/^public, max-age=199, /);

    await rig.emulator.behave('unavailable');
    rig.clock.next();
    await eventually(hasFailed);
    rig.clock.advance(200_000);
    const stale = await head();
    expect(stale?.get('cache-status')).toMatch(/^banks-bff; hit; ttl=-\d+; detail=(unavailable|timeout)$/);
    expect(stale?.get('cache-control')).toMatch(/^public, max-age=0, /);
    expect(stale?.get('last-modified')).toBe(changed);
  });

  test('a list that comes back unchanged keeps its ETag and its date', async () => {
    rig = await startRig();
    await eventually(hasList);
    const before = await head();
    rig.clock.next();
    await eventually(() => rig.emulator.listCalls() === 2 && rig.service.list.status().ageMs === 0);
    const after = await head();
    expect(after?.get('last-modified')).toBe(before?.get('last-modified'));
    expect(after?.get('etag')).toBe(before?.get('etag'));
  });

  test('an error is never stored', async () => {
    rig = await startRig({ before: (emulator) => emulator.behave('unavailable') });
    const bytes = 'GET /banks HTTP/1.1\r\nHost: a\r\nConnection: close\r\nIf-None-Match: *\r\n\r\n';
    const [answer] = await sendRaw(rig.url, bytes, { keepOpen: true });
    expect(answer?.status).toBe(503);
    expect(answer?.headers.get('cache-control')).toBe('no-store');
    expect(answer?.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(answer?.headers.has('etag')).toBe(false);
  });
});
