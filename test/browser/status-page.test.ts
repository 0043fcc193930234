import { execFile } from 'node:child_process';
import { hostname } from 'node:os';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import supertest from 'supertest';
import { describeInBrowser, launchBrowser } from '../kit/browser.ts';
import { eventually, startRig, type Rig, type RigOptions } from '../kit/rig.ts';

// The status page as a person sees it, in each state of the service.

const HOUR_MS = 3_600_000;
/** A production whose provider nobody can reach. */
const PRODUCTION = {
  PROVIDER_ENVIRONMENT: 'production',
  PROVIDER_PRODUCTION_BASE_URL: 'https://127.0.0.1:1',
  PROVIDER_ACCESS_TOKEN: 'a-token-of-production',
};

describeInBrowser('the status page', () => {
  let browser: Browser;
  let rig: Rig;
  let page: Page;
  let complaints: string[] = [];
  let asked: string[] = [];

  // Chromium may be slow on a busy machine; no test waits for time itself.
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

  const expectAccessible = async (): Promise<void> => {
    await page.evaluate(axe.source);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(
        await page.evaluate(`axe.run().then(({ violations }) =>
          violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`),
      ).toEqual([]);
    }
    await page.emulateMedia({ colorScheme: 'light' });
  };

  const STATES: Record<string, { enter: () => Promise<void>; says: RegExp }> = {
    fresh: { enter: () => start(), says: /Users get the current list\./ },
    failing: {
      enter: async () => {
        await start();
        await fail('unavailable');
      },
      says: /but it cannot be renewed/,
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
      says: /Users get errors: the cached list has expired\./,
    },
    empty: {
      enter: () => start({ before: (emulator) => emulator.behave('html') }),
      says: /Users get errors: there is no cached list\./,
    },
    refused: {
      enter: async () => {
        await start();
        await fail('shrunk');
      },
      says: /a new one was refused/,
    },
    drifted: {
      enter: async () => {
        await start();
        await fail('renamed-field');
      },
      says: /a new one was refused/,
    },
    'without a promised field': {
      enter: () => start({ env: { BANK_FIELDS: 'codigo,ispb' } }),
      says: /there is no cached list/,
    },
    'with rejected entries': {
      enter: () => start({ before: (emulator) => emulator.behave('some-unusable') }),
      says: /without 26 rejected entries/,
    },
    'with a failing store': {
      enter: async () => {
        await start({ env: { CACHE_SNAPSHOT_FILE: '/nowhere/list' } });
        await eventually(() => rig.messages().some((message) => message.includes('cannot be written')));
      },
      says: /but the snapshot file fails/,
    },
    'in production': {
      enter: () => start({ env: PRODUCTION }),
      says: /there is no cached list/,
    },
  };

  describe.each(Object.entries(STATES))('%s', (_name, { enter, says }) => {
    test('says first what users get, obeys its policy, and passes axe in light and dark', async () => {
      await enter();
      await open();
      expect(await headline()).toMatch(says);
      await expectAccessible();
      expect(complaints).toEqual([]);
      expect(new Set(asked.map((url) => new URL(url).origin))).toEqual(new Set([rig.operatorsUrl]));
    });
  });

  test('it fits a phone without horizontal scrolling', async () => {
    await start();
    await fail('shrunk');
    await open({ viewport: { width: 360, height: 740 } });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
  });

  test('it updates in place: what has not changed stays the same element', async () => {
    await start();
    await open();
    await page.clock.install();
    await page.reload();
    await page.getByRole('link', { name: 'Metrics' }).focus();
    await page.evaluate(`document.querySelector('#headline').firstChild.mark = 'old'`);
    rig.clock.skip(1_000);
    const asOf = new Date(rig.clock.wallMs()).toISOString().slice(11, 19);
    await page.clock.runFor(6_000);
    await page.locator('#as-of', { hasText: asOf }).waitFor();
    expect(await page.evaluate(`document.querySelector('#headline').firstChild.mark`)).toBe('old');

    await fail('unavailable');
    await page.clock.runFor(6_000);
    await page.locator('#headline', { hasText: /cannot be renewed/ }).waitFor();
    expect(await page.title()).toMatch(/^! .*cannot be renewed/);
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Metrics');
    expect(complaints).toEqual([]);
  });

  test('selected text does not keep what is no longer true; a selected command stays selected', async () => {
    await start();
    await open();
    await page.clock.install();
    await page.reload();
    const select = (selector: string) =>
      page.evaluate(`document.getSelection().selectAllChildren(document.querySelector('${selector}'))`);
    const renewUntil = async (text: RegExp): Promise<void> => {
      await page.clock.runFor(6_000);
      await page.locator('#headline', { hasText: text }).waitFor();
    };
    await select('main');
    await fail('unavailable');
    await renewUntil(/cannot be renewed/);
    expect(await page.locator('#advice').innerText()).toContain('What is wrong');

    await rig.emulator.behave('refuse');
    rig.clock.next();
    await eventually(() => rig.service.list.status().failing?.attempts === 2);
    await page.clock.runFor(6_000);
    await page.locator('code', { hasText: 'doctor' }).waitFor();
    await select('code');
    rig.clock.skip(8 * 24 * HOUR_MS);
    await renewUntil(/the cached list has expired/);
    expect(await page.locator('#meaning').innerText()).toContain('Users have been getting errors since');
    expect(await page.evaluate('String(document.getSelection())')).toBe('node dist/src/main.js doctor');

    await select('#facts');
    await page.route('**/*', (route) => route.abort());
    await renewUntil(/No contact/);
    expect(await page.locator('#meaning').innerText()).toContain('has not answered since');
  });

  test('without contact it turns grey, withdraws its verdict, and recovers by itself', async () => {
    await start();
    await open();
    await page.clock.install();
    await page.reload();
    // Of the sign beside the headline, and of a renewal in the plots.
    const colours = (): Promise<unknown> =>
      page.evaluate(`[
        getComputedStyle(document.querySelector('h1'), '::before').backgroundColor,
        getComputedStyle(document.querySelector('rect.ok')).fill,
      ]`);
    const [sign, renewal] = [await colours()].flat();
    // What counts is the last contact, not the first one.
    rig.clock.skip(30_000);
    const lastContact = new Date(rig.clock.wallMs()).toISOString().slice(11, 19);
    await page.clock.runFor(6_000);
    await page.locator('#as-of', { hasText: lastContact }).waitFor();
    await page.route('**/*', (route) => route.abort());
    await page.clock.runFor(6_000);
    await page.locator('#headline', { hasText: 'No contact with this instance.' }).waitFor();
    expect(await page.title()).toMatch(/^\? sandbox: No contact/);
    expect(await page.locator('#meaning').innerText()).toContain(`since ${lastContact} UTC`);
    expect(await page.locator('#as-of time').innerText()).toBe(lastContact);
    expect(await colours()).toEqual([
      expect.not.stringContaining(String(sign)),
      expect.not.stringContaining(String(renewal)),
    ]);
    await page.unroute('**/*');
    await expectAccessible();

    await page.clock.runFor(6_000);
    await page.locator('#headline', { hasText: 'Users get the current list.' }).waitFor();
    expect(await page.title()).toMatch(/^✓/);
    expect(await colours()).toEqual([sign, renewal]);
  });

  test('it says since when loads have been failing, how often, and with which status', async () => {
    await start();
    await fail('unavailable');
    const since = new Date(rig.clock.wallMs()).toISOString().slice(11, 19);
    for (let attempts = 2; attempts <= 3; attempts += 1) {
      rig.clock.next();
      await eventually(() => rig.service.list.status().failing?.attempts === attempts);
    }
    await open();
    expect(await page.locator('#advice').innerText()).toMatch(
      new RegExp(`Failing since ${since} \\(\\d+\\ss\\), 3 attempts, HTTP 503\\.`),
    );
    // One renewal and three failures within a minute: the bars are drawn to one scale.
    const renewals = page.locator('figure', { hasText: 'Renewals' });
    expect(await renewals.locator('.y-axis span').allInnerTexts()).toEqual(['3', '0', '3']);
    const heightOf = async (name: string): Promise<number> =>
      Number(await renewals.locator(`rect.${name}`).last().getAttribute('height'));
    expect((await heightOf('failed')) / (await heightOf('ok'))).toBeCloseTo(3, 1);
  });

  test('it says when a stale list expires', async () => {
    await start({ env: { CACHE_TTL: '1h', CACHE_MAX_STALE: '5h' } });
    await fail('unavailable');
    rig.clock.skip(2 * HOUR_MS - (rig.service.list.status().ageMs ?? 0));
    const { text } = await supertest(rig.operatorsUrl).get('/').expect(200);
    const expiry = new Date(rig.clock.wallMs() + 4 * HOUR_MS).toISOString().slice(11, 19);
    expect(text.replaceAll('\u00A0', ' ')).toContain(`2 h old. It expires in 4 h (${expiry})`);
  });

  test('it names the host and the version, and emphasises the environment only in production', async () => {
    await start();
    await open();
    expect(await page.locator('header').innerText()).toContain(`0.0.0-test on ${hostname()}, sandbox`);
    expect(await page.locator('.production').count()).toBe(0);
    await rig.close();
    await start({ env: PRODUCTION });
    await open();
    expect(await page.locator('.production').innerText()).toBe('PRODUCTION');
    expect(await page.title()).toContain('PRODUCTION');
  });

  test('while draining it says until when connections are accepted, and what users get', async () => {
    await start();
    const stopped = rig.service.stop({ noticeMs: 3_000 });
    const at = (ms: number): string => new Date(rig.clock.wallMs() + ms).toISOString().slice(11, 19);
    await open();
    expect(await headline()).toBe('This instance is shutting down.');
    const meaning = await page.locator('#meaning').innerText();
    expect(meaning).toContain(`accepts new connections until ${at(3_000)}`);
    expect(meaning).toContain(`can finish until ${at(10_000)}`);
    expect(meaning).toContain('For now: Users get the current list.');
    await supertest(rig.url).get('/banks').expect(200);
    rig.clock.advance(10_000);
    await stopped;
  });

  describe('the command that accepts a list', () => {
    test('works when pasted, and does nothing if the token is not set', async () => {
      await start({ env: { MANAGEMENT_TOKEN: 'a-management-token' } });
      await fail('shrunk');
      await open();
      const command = await page.locator('code', { hasText: 'curl' }).innerText();
      const run = (env: Readonly<Record<string, string>>) =>
        promisify(execFile)('/bin/sh', ['-c', command], { env });
      await expect(run({})).rejects.toThrow(/MANAGEMENT_TOKEN: is not set/);
      const { stdout } = await run({ MANAGEMENT_TOKEN: 'a-management-token' });
      expect(JSON.parse(stdout)).toMatchObject({ outcome: 'changed' });
    });

    test('is the one for what is wrong, beside the fields and the shares', async () => {
      await start();
      await fail('renamed-field');
      const { text } = await supertest(rig.operatorsUrl).get('/').set('Host', 'localhost:9999');
      expect(text).toContain('&#39;http://localhost:9999/refresh?accept=drifted&#39;');
      expect(text).not.toContain('accept=shrunk');
      expect(text).toContain('name: filled in 100 % of entries before, 0 % now');
      expect(text).toContain('Failing since');
    });

    test('has the address of the tunnel through which the page was reached', async () => {
      await start();
      await fail('shrunk');
      const { text } = await supertest(rig.operatorsUrl).get('/').set('Host', 'localhost:9999');
      expect(text).toContain('&#39;http://localhost:9999/refresh?accept=shrunk&#39;');
      expect(text).toContain('POST /refresh is disabled');
    });

    test('contains nothing from a hostile Host', async () => {
      await start();
      await fail('shrunk');
      const { text } = await supertest(rig.operatorsUrl).get('/').set('Host', `x';touch y;'`);
      expect(text).not.toContain('touch');
    });
  });

  test('it is complete without scripts', async () => {
    await start();
    await open({ javaScriptEnabled: false });
    expect(await headline()).toMatch(/current list/);
    expect(await page.locator('svg').count()).toBe(4);
  });

  test("it shows neither the provider's address nor a token", async () => {
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
