import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { ALL_BANKS } from '../helpers/emulate.ts';
import { createStage } from '../helpers/browser-stage.ts';
import { describeInBrowser } from '../helpers/browser.ts';
import { eventually } from '../helpers/wait-until.ts';

// What a page in Chromium can do with a service on another origin (docs/api.md).

describeInBrowser('a page on another origin', () => {
  const stage = createStage();
  const statuses = (): unknown[] =>
    stage.rig.requests('/banks').map(({ statusCode }) => statusCode);
  /** Fetches in the page, and returns what a frontend sees. */
  const inPage = (path: string, options = {}) =>
    stage.page.evaluate(
      `fetch(${JSON.stringify(stage.rig.url + path)}, ${JSON.stringify(options)}).then(async (response) => ({
        status: response.status,
        count: (await response.json()).length,
        etag: response.headers.get('etag'),
        cacheStatus: response.headers.get('cache-status'),
        requestId: response.headers.get('x-request-id'),
        hidden: response.headers.get('content-security-policy'),
      }), (error) => error.name)`,
    );

  test('gets the list by the script of the documents, and waits for one as the service asks', async () => {
    const [, script = ''] =
      /```js\n(const fetchBanks[^]*?)```/.exec(readFileSync('docs/api.md', 'utf8')) ?? [];
    await stage.startCold();
    const here = script.replace('http://localhost:3000/banks', `${stage.rig.url}/banks`);
    await stage.openPage(
      `<!doctype html><script>${here}; fetchBanks().then((banks) => { document.title = String(banks.length); });</script>`,
    );
    await eventually(() => statuses().includes(503));
    expect(await stage.page.title()).toBe('');
    await stage.repair();
    await stage.page.waitForFunction(`document.title === '${ALL_BANKS.length}'`);
    expect(statuses()).toEqual([503, 200]);
  });

  test('can read the list, the exposed headers and errors, and send the headers that tracing adds', async () => {
    await stage.openPage('<!doctype html>');
    const headers = { traceparent: 'x', 'X-Request-Id': 'from-the-page' };
    expect(await inPage('/banks', { headers })).toEqual({
      status: 200,
      count: ALL_BANKS.length,
      etag: expect.stringMatching(/^"/),
      cacheStatus: expect.stringMatching(/^banks-bff; .*ttl=/),
      requestId: expect.any(String),
      hidden: null,
    });
    expect(await inPage('/nothing')).toMatchObject({ status: 404 });
  });

  test('sends no request within max-age, and then revalidates with a 304', async () => {
    await stage.openPage('<!doctype html>');
    await inPage('/banks');
    await inPage('/banks');
    expect(statuses()).toEqual([200]);
    expect(await inPage('/banks', { cache: 'no-cache' })).toMatchObject({
      status: 200,
      count: ALL_BANKS.length,
    });
    await eventually(() => statuses().length > 1);
    expect(statuses()).toEqual([200, 304]);
  });
});
