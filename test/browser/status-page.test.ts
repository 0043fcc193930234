import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import type { BrowserContextOptions } from 'playwright-core';
import type { Behaviour } from '../../emulator/behaviours.ts';
import { createStage } from '../helpers/browser-stage.ts';
import { describeInBrowser } from '../helpers/browser.ts';
import { nextLoad, type RigOptions } from '../helpers/rig.ts';
import { MANAGEMENT_TOKEN, PRODUCTION } from '../helpers/sandbox.ts';
import { eventually } from '../helpers/wait-until.ts';

// The status page as a person sees it, in each state of the service.

describeInBrowser('the status page', () => {
  const stage = createStage();
  const start = async (options: RigOptions = {}): Promise<void> => {
    await stage.start(options);
    await eventually(() => stage.rig.service.list.status().nextLoadInMs > 0);
  };
  /** Lets the next load meet this. */
  const meet = async (behaviour: Behaviour): Promise<void> => {
    await stage.rig.emulator.behave(behaviour);
    await nextLoad(stage.rig);
  };
  const open = (context?: BrowserContextOptions): Promise<void> =>
    stage.open(context, `${stage.rig.managementUrl}/`);
  /** From here on the test moves the page's time. */
  const holdTime = async (): Promise<void> => {
    await stage.page.clock.install();
    await stage.page.reload();
  };

  test.each<[string, Behaviour, RigOptions]>([
    ['all is well', 'healthy', {}],
    ['a list was refused', 'renamed-field', {}],
    ['a production has no list', 'healthy', { env: PRODUCTION }],
  ])(
    'when %s it obeys its policy, passes axe in light and dark, and fits a phone',
    async (_state, next, options) => {
      await start(options);
      await meet(next);
      await open({ viewport: { width: 320, height: 700 } });
      expect(await stage.violations()).toEqual([]);
      expect(await stage.page.evaluate('document.documentElement.scrollWidth')).toBe(320);
      expect(stage.complaints).toEqual([]);
      const elsewhere = stage.requests.filter(
        (request) => !request.url().startsWith(stage.rig.managementUrl),
      );
      expect(elsewhere).toEqual([]);
    },
  );

  test('it updates in place: what has not changed stays the same element', async () => {
    await start();
    await open();
    await holdTime();
    await stage.page.getByRole('link', { name: 'Metrics' }).focus();
    // Read out when it changes.
    expect(await stage.page.getByRole('status').getAttribute('id')).toBe('headline');
    await stage.page.evaluate(`document.querySelector('#headline').firstChild.mark = 'old'`);
    stage.rig.clock.skip(1_000);
    const asOf = new Date(stage.rig.clock.wallMs()).toISOString().slice(11, 19);
    await stage.page.clock.runFor(6_000);
    await stage.page.locator('#as-of', { hasText: asOf }).waitFor();
    expect(await stage.page.evaluate(`document.querySelector('#headline').firstChild.mark`)).toBe(
      'old',
    );

    await meet('unavailable');
    await stage.page.clock.runFor(6_000);
    await stage.page.locator('#headline', { hasText: /cannot be renewed/ }).waitFor();
    expect(await stage.page.title()).toMatch(/^! .*cannot be renewed/);
    await stage.page.locator('#problems', { hasText: /Failing since/ }).waitFor();
    await stage.page.locator('#plots', { hasText: /succeeded, 1 failed/ }).waitFor();
    expect(await stage.page.evaluate('document.activeElement.textContent')).toBe('Metrics');
    expect(stage.complaints).toEqual([]);
  });

  test('without contact it turns grey, withdraws its verdict, and recovers by itself', async () => {
    await start();
    await open();
    await holdTime();
    // Of the sign beside the headline, and of a renewal in the plots.
    const colours = (): Promise<unknown> =>
      stage.page.evaluate(`[
        getComputedStyle(document.querySelector('h1'), '::before').backgroundColor,
        getComputedStyle(document.querySelector('rect.ok')).fill,
      ]`);
    const [sign, renewal] = [await colours()].flat();
    // What counts is the last contact, not the first one.
    stage.rig.clock.skip(30_000);
    const lastContact = new Date(stage.rig.clock.wallMs()).toISOString().slice(11, 19);
    await stage.page.clock.runFor(6_000);
    await stage.page.locator('#as-of', { hasText: lastContact }).waitFor();
    await stage.page.route('**/*', (route) => route.abort());
    await stage.page.clock.runFor(6_000);
    await stage.page.locator('#headline', { hasText: 'No contact with this instance.' }).waitFor();
    expect(await stage.page.title()).toMatch(/^\? sandbox: No contact/);
    expect(await stage.page.locator('#meaning').innerText()).toContain(`since ${lastContact} UTC`);
    expect(await stage.page.locator('#as-of').innerText()).toContain(lastContact);
    expect(await colours()).toEqual([
      expect.not.stringContaining(String(sign)),
      expect.not.stringContaining(String(renewal)),
    ]);
    await stage.page.unroute('**/*');
    expect(await stage.violations()).toEqual([]);

    await stage.page.clock.runFor(6_000);
    await stage.page.locator('#headline', { hasText: 'Users get the current list.' }).waitFor();
    expect(await stage.page.title()).toMatch(/^✓/);
    expect(await colours()).toEqual([sign, renewal]);
  });

  test('an instance that does not answer for 5 s has no contact', async () => {
    await start();
    await open();
    // Playwright's clock does not move this.
    await stage.page.addInitScript(`AbortSignal.timeout = (ms) => {
      const controller = new AbortController();
      setTimeout(() => controller.abort(), ms);
      return controller.signal;
    }`);
    await holdTime();
    await stage.page.route('**/*', () => undefined);
    await stage.page.clock.runFor(6_000);
    const headline = stage.page.locator('#headline');
    expect(await headline.innerText()).toBe('Users get the current list.');
    await stage.page.clock.runFor(6_000);
    await headline.filter({ hasText: 'No contact with this instance.' }).waitFor();
    await stage.page.unrouteAll({ behavior: 'ignoreErrors' });
  });

  test('the command that accepts a list works when pasted, and does nothing if the token is not set', async () => {
    await start({ env: { MANAGEMENT_TOKEN } });
    await meet('shrunk');
    await open();
    const command = await stage.page.locator('code', { hasText: 'curl' }).innerText();
    const run = (env: Readonly<Record<string, string>>) =>
      promisify(execFile)('/bin/sh', ['-c', command], { env });
    await expect(run({})).rejects.toThrow(/MANAGEMENT_TOKEN: is not set/);
    const { stdout } = await run({ MANAGEMENT_TOKEN });
    expect(JSON.parse(stdout)).toMatchObject({ outcome: 'changed' });
  });
});
