import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, expect, jest, test } from '@jest/globals';
import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { describeInBrowser, launchBrowser } from '../kit/browser.ts';
import { eventually, startRig, type Rig, type RigOptions } from '../kit/rig.ts';

// The status page as a person sees it, in each state of the service.

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

  test.each<[string, () => Promise<void>]>([
    ['all is well', () => start()],
    [
      'a list was refused',
      async () => {
        await start();
        await fail('renamed-field');
      },
    ],
    ['a production has no list', () => start({ env: PRODUCTION })],
  ])('when %s it obeys its policy, passes axe in light and dark, and fits a phone', async (_state, enter) => {
    await enter();
    await open({ viewport: { width: 360, height: 740 } });
    await expectAccessible();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
    expect(complaints).toEqual([]);
    expect(new Set(asked.map((url) => new URL(url).origin))).toEqual(new Set([rig.operatorsUrl]));
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

  test('the command that accepts a list works when pasted, and does nothing if the token is not set', async () => {
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
});
