import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import supertest from 'supertest';
import { describeInBrowser, launchBrowser } from '../kit/browser.ts';
import { eventually, startRig, type Rig, type RigOptions } from '../kit/rig.ts';

// The status page as a person sees it, in each state of the service.

const HOUR_MS = 3_600_000;

describeInBrowser('the status page', () => {
  let browser: Browser;
  let rig: Rig;
  let page: Page;
  let complaints: string[] = [];
  let asked: string[] = [];

  // A Chromium on a busy machine takes its time; no test waits for time itself.
  jest.setTimeout(30_000);
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser.close());
  afterEach(async () => {
    await Promise.all(browser.contexts().map((context) => context.close()));
    await rig.close();
  });

  const start = async (options?: RigOptions): Promise<void> => {
    rig = await startRig(options);
    await eventually(() => {
      const { held, failure } = rig.service.list.status();
      return held !== undefined || failure !== undefined;
    });
  };
  const fail = async (behaviour: Parameters<Rig['emulator']['behave']>[0]): Promise<void> => {
    await rig.emulator.behave(behaviour);
    rig.clock.next();
    await eventually(() => rig.service.list.status().failure !== undefined);
  };
  const open = async (options: Parameters<Browser['newPage']>[0] = {}): Promise<void> => {
    page = await browser.newPage(options);
    page.setDefaultTimeout(10_000);
    complaints = [];
    asked = [];
    page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())));
    page.on('pageerror', (error) => void complaints.push(error.message));
    page.on('request', (request) => void asked.push(request.url()));
    await page.goto(`${rig.operatorsUrl}/`);
  };
  const headline = (): Promise<string> => page.getByRole('heading', { level: 1 }).innerText();

  const STATES: Record<string, { enter: () => Promise<void>; says: RegExp }> = {
    fresh: { enter: () => start(), says: /Users get the current list\./ },
    failing: {
      enter: async () => {
        await start();
        await fail('unavailable');
      },
      says: /but its renewal fails/,
    },
    stale: {
      enter: async () => {
        await start();
        await fail('unauthorized');
        rig.clock.advance(HOUR_MS);
      },
      says: /Users get an old list\./,
    },
    expired: {
      enter: async () => {
        await start();
        await rig.emulator.behave('refuse');
        rig.clock.skip(8 * 24 * HOUR_MS);
      },
      says: /Users get errors: the list is too old\./,
    },
    empty: {
      enter: () => start({ before: (emulator) => emulator.behave('html') }),
      says: /Users get errors: there is no list yet\./,
    },
    refused: {
      enter: async () => {
        await start();
        await fail('shrunk');
      },
      says: /a new one was refused/,
    },
    'with entries held back': {
      enter: () => start({ before: (emulator) => emulator.behave('some-unusable') }),
      says: /without 26 entries/,
    },
  };

  describe.each(Object.entries(STATES))('%s', (_name, { enter, says }) => {
    test('says first what users get, obeys its policy, and axe finds nothing in light and dark', async () => {
      await enter();
      await open();
      expect(await headline()).toMatch(says);
      await page.evaluate(axe.source);
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        expect(
          await page.evaluate(`axe.run().then(({ violations }) =>
            violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`),
        ).toEqual([]);
      }
      expect(complaints).toEqual([]);
      expect(new Set(asked.map((url) => new URL(url).origin))).toEqual(new Set([rig.operatorsUrl]));
    });
  });

  test('it fits a telephone without sideways scrolling', async () => {
    await start();
    await fail('shrunk');
    await open({ viewport: { width: 360, height: 740 } });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
  });

  test('it renews itself in place: what has not changed stays the same element', async () => {
    await start();
    await open();
    await page.clock.install();
    await page.reload();
    await page.getByRole('link', { name: 'Metrics' }).focus();
    await page.evaluate(`document.querySelector('#headline').firstChild.mark = 'old'`);
    await page.clock.runFor(6_000);
    await page.locator('#lost:empty').waitFor({ state: 'attached' });
    expect(await page.evaluate(`document.querySelector('#headline').firstChild.mark`)).toBe('old');

    await fail('unavailable');
    await page.clock.runFor(6_000);
    await page.locator('#headline', { hasText: /renewal fails/ }).waitFor();
    expect(await page.title()).toMatch(/renewal fails/);
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Metrics');
    expect(complaints).toEqual([]);
  });

  test('it says so when the service does not answer it any more', async () => {
    await start();
    await open();
    await page.clock.install();
    await page.reload();
    await page.route('**/*', (route) => route.abort());
    await page.clock.runFor(6_000);
    await page.locator('#lost', { hasText: /does not answer/ }).waitFor();
    expect(await headline()).toMatch(/current list/);
  });

  test('without scripts it is whole', async () => {
    await start();
    await open({ javaScriptEnabled: false });
    expect(await headline()).toMatch(/current list/);
    expect(await page.locator('svg').count()).toBe(4);
  });

  test('no address of the provider and no token is on it', async () => {
    await start();
    await fail('unauthorized');
    const { text, headers } = await supertest(rig.operatorsUrl).get('/').expect(200);
    for (const secret of ['emulator-access-token', new URL(rig.emulator.baseUrl).host]) {
      expect(text).not.toContain(secret);
    }
    expect(headers['content-security-policy']).toMatch(/default-src 'none'; script-src 'self'/);
    expect(headers['cache-control']).toBe('no-store');
  });
});
