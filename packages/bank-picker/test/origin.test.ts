import { expect, test } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import type { Route } from 'playwright-core';
import { describeInBrowser } from '../../../test/helpers/browser.ts';
import { ALL_BANKS } from '../../../test/helpers/emulate.ts';
import { createStage } from '../../../test/helpers/browser-stage.ts';

const TOKEN = 'emulator-access-token';
describeInBrowser('the bank picker, on another origin than the service', () => {
  const stage = createStage();
  const requestsServed = (): string[] =>
    stage.rig.log().match(/"path":"\/banks","statusCode":\d+/g) ?? [];
  const code = () => stage.ask<string | null>('picker.bank && picker.bank.code');
  const failure = () => stage.page.getByRole('alert');
  const allowed = {
    'access-control-allow-origin': '*',
    'access-control-expose-headers': 'retry-after',
  };
  const outdated = () => stage.page.locator('#outdated');
  test('the list is asked for without a secret, contains none, and gives the chosen bank to the page', async () => {
    await stage.open({}, 'about:blank');
    // Cookies ignore ports: the browser would send this one to the service, too.
    await stage.page
      .context()
      .addCookies([{ name: 'session', value: 'private', url: stage.picker.url }]);
    await stage.page.goto(stage.picker.url);
    await stage.settled('loaded');
    const [document] = stage.requests;
    expect(await document?.headerValue('cookie')).toBe('session=private');
    const [list] = stage.listRequests;
    const sent = { ...(await list?.allHeaders()) };
    expect(sent['origin']).toBe(stage.picker.url);
    expect(Object.keys(sent).filter((name) => /cookie|auth/.test(name))).toEqual([]);
    const response = await list?.response();
    const everything = `${await response?.text()} ${JSON.stringify(await response?.allHeaders())}`;
    expect(everything).toContain('ITAÚ');
    expect(everything).not.toContain(TOKEN);
    expect(await stage.page.content()).not.toContain(TOKEN);
    // Within max-age the browser has it already.
    await stage.page.reload();
    await stage.settled('loaded');
    expect(requestsServed()).toEqual(['"path":"/banks","statusCode":200']);

    await stage.find('itau');
    await stage.options().first().click();
    await stage.page.getByRole('button', { name: 'Continuar' }).click();
    const shown = await stage.page.locator('dd').allTextContents();
    expect(shown).toEqual(['ITAÚ UNIBANCO S.A.', '341', '60701190']);
    expect(stage.complaints).toEqual([]);
  });

  test('a list that is days old has a note, and a bank can still be chosen', async () => {
    await stage.passOutage(2);
    await stage.visit();
    expect(await outdated().isVisible()).toBe(false);
    stage.rig.clock.advance(86_400_000);
    await stage.visit();
    expect(await outdated().textContent()).toBe(
      'Lista atualizada há mais de 2 dias. Bancos novos podem não aparecer.',
    );
    await stage.box().fill('341');
    await stage.box().press('Enter');
    expect(await code()).toBe('341');
    // Also where a cache on the way has a `ttl` of its own in Cache-Status.
    await stage.page.route(`${stage.rig.url}/banks`, async (route) => {
      const response = await route.fetch();
      const headers = response.headers();
      headers['cache-status'] = `edge; hit; ttl=300, ${headers['cache-status']}`;
      await route.fulfill({ response, headers });
    });
    await stage.page.reload();
    await stage.settled('loaded');
    expect(await outdated().isVisible()).toBe(true);
  });

  test('a page renews the list by setting src again, and keeps the chosen bank', async () => {
    await stage.visit();
    await stage.ask("void (picker.value = '60701190')");
    const renamed = ALL_BANKS.map((bank) =>
      bank['ispb'] === '60701190' ? { ...bank, name: 'ITAÚ NOVO' } : bank,
    );
    await stage.page.route('**/banks', (route) =>
      route.fulfill({ headers: allowed, json: renamed }),
    );
    await stage.ask(`new Promise((resolve) => {
      picker.addEventListener('load', resolve);
      picker.src = picker.src;
    })`);
    expect([await code(), await stage.box().inputValue()]).toEqual(['341', 'ITAÚ NOVO']);
  });

  test('without a list the field says so and accepts no text', async () => {
    await stage.startCold();
    await stage.open();
    await stage.settled('failed');
    expect(await stage.box().getAttribute('placeholder')).toBe('Lista de bancos indisponível');
    await stage.box().focus();
    await stage.page.keyboard.type('itau');
    await stage.page.keyboard.press('ArrowDown');
    expect([await stage.box().inputValue(), await stage.options().count()]).toEqual(['', 0]);
    const reference = await stage.page.locator('.reference').textContent();
    const [, requestId] =
      /^Código do erro: provider_unavailable · (\S+)$/.exec(reference ?? '') ?? [];
    expect(stage.rig.log()).toContain(`"${requestId}"`);
  });

  test('the list appears without a click once Retry-After has passed and the provider is back', async () => {
    await stage.startCold();
    await stage.open();
    await stage.settled('failed');
    // The service's clock stands still as well.
    await stage.holdTime();
    await stage.page.reload();
    await stage.settled('failed');
    const response = await stage.listRequests.at(-1)?.response();
    expect(response?.status()).toBe(503);
    const seconds = Number(await response?.headerValue('retry-after'));
    expect(seconds).toBeGreaterThan(1);
    const countdown = stage.page.locator('.wait');
    expect(await countdown.textContent()).toBe(`Nova tentativa em ${seconds} s`);
    await stage.page.clock.runFor(1_000);
    expect(await countdown.textContent()).toBe(`Nova tentativa em ${seconds - 1} s`);

    await stage.repair();
    await stage.page.clock.runFor(seconds * 1_000);
    await stage.settled('loaded');
    expect(await failure().isVisible()).toBe(false);
    expect((await stage.tree())[0]).toBe('combobox "Banco de destino"');
    expect(await stage.find('341')).toContain('341');
  });

  const OUTAGES: [string, (route: Route) => Promise<void> | void][] = [
    ['a request that hangs', () => undefined],
    [
      'a 503 with a long one',
      (route) => route.fulfill({ status: 503, headers: { ...allowed, 'retry-after': '3600' } }),
    ],
    [
      'a 200 that is no list',
      (route) => route.fulfill({ status: 200, headers: allowed, body: '{}' }),
    ],
  ];
  /** A visit during an outage, with the page's time in the hand of the test. */
  const openDuring = async (outage: (route: Route) => Promise<void> | void) => {
    await stage.open();
    await stage.holdTime();
    await stage.page.route('**/banks', outage);
    await stage.page.reload();
  };
  const attempts = () => stage.listRequests.length;

  test.each(OUTAGES)(
    'the list comes by itself after %s, however long that was',
    async (_name, outage) => {
      await openDuring(outage);
      await stage.page.clock.runFor(20_000);
      await stage.settled('failed');
      expect(await stage.ask('picker.validity.valueMissing')).toBe(true);
      const before = attempts();
      await stage.page.clock.runFor(600_000);
      // At first after a second, later twice a minute: neither never nor all the time.
      expect(attempts() - before).toBeGreaterThan(9);
      expect(attempts() - before).toBeLessThan(50);
      // No request is on its way while the page waits for the next attempt.
      await stage.leave('loading');
      await stage.page.unroute('**/banks');
      await stage.leave('failed');
      await stage.settled('loaded');
      expect(await failure().isVisible()).toBe(false);
      expect((await stage.find('341'))[0]).toBe('341');
    },
  );

  test('without a Retry-After the attempts become rarer, up to two a minute', async () => {
    await openDuring((route) => route.abort('connectionrefused'));
    for (const most of [1, 2, 4, 8, 16, 30, 30]) {
      await stage.settled('failed');
      const text = await stage.page.locator('.wait').textContent();
      const seconds = Number(/^Nova tentativa em (\d+) s$/.exec(text ?? '')?.[1]);
      // Time may have gone on by a second since the attempt failed.
      expect(seconds).toBeGreaterThanOrEqual(most / 2 - 1);
      expect(seconds).toBeLessThanOrEqual(most);
      await stage.page.clock.runFor(seconds * 1_000 + 100);
    }
  });

  test.each([
    ['the browser is online again', "window.dispatchEvent(new Event('online'))"],
    ['the page is visible again', "document.dispatchEvent(new Event('visibilitychange'))"],
    ['somebody comes to the field', '(document.activeElement.blur(), picker.focus())'],
    ['the form is submitted', 'picker.form.requestSubmit()'],
  ])('the list comes at once when %s', async (_name, event) => {
    await openDuring((route) =>
      route.fulfill({ status: 503, headers: { ...allowed, 'retry-after': '60' } }),
    );
    await stage.settled('failed');
    const before = attempts();
    await stage.page.unroute('**/banks');
    await stage.ask(`void ${event}`);
    // Right after an attempt, a moment later.
    expect(attempts()).toBe(before);
    await stage.page.clock.runFor(1_000);
    await stage.settled('loaded');
    expect(attempts()).toBe(before + 1);
  });

  test('a page that goes into the background asks for nothing', async () => {
    await openDuring((route) =>
      route.fulfill({ status: 503, headers: { ...allowed, 'retry-after': '60' } }),
    );
    await stage.settled('failed');
    const before = attempts();
    await stage.ask(`void (
      Object.defineProperty(document, 'visibilityState', { value: 'hidden' }),
      document.dispatchEvent(new Event('visibilitychange')))`);
    await stage.page.clock.runFor(2_000);
    expect(attempts()).toBe(before);
  });

  test('what is typed while the list is loading is looked for afterwards', async () => {
    let answer: ServerResponse | undefined;
    await stage.start({
      before: (emulator) => emulator.respondWith((_req, res) => (answer = res)),
    });
    await stage.open();
    expect(await stage.page.locator('#note').textContent()).toBe('Carregando bancos…');
    await stage.box().fill('itau');
    answer?.setHeader('content-type', 'application/json').end(JSON.stringify(ALL_BANKS));
    await stage.settled('loaded');
    expect((await stage.codes())[0]).toBe('341');
  });

  test('logos are loaded when they come into view, and initials stand where there is none or it does not load', async () => {
    const LOGOS = 'https://logos.example';
    const named = Array.from({ length: 60 }, (_, index) => ({
      ispb: String(10_000_000 + index),
      name: `BCO EXEMPLO ${index} S.A.`,
      logo:
        index === 1
          ? ''
          : index === 2
            ? `${LOGOS}/broken.svg`
            : index === 3
              ? '/relative.svg'
              : `${LOGOS}/${index}.svg`,
    }));
    await stage.start({
      env: { BANK_FIELDS: 'ispb,name,logo' },
      before: (emulator) => emulator.setBanks(named),
    });
    await stage.open({ viewport: { width: 600, height: 500 } }, 'about:blank');
    const asked: string[] = [];
    const referers = new Set<string | undefined>();
    const square =
      '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><rect width="8" height="8"/></svg>';
    await stage.page.route('**/*.svg', async (route) => {
      asked.push(route.request().url());
      referers.add(route.request().headers()['referer']);
      await (route.request().url().includes('broken')
        ? route.fulfill({ status: 404 })
        : route.fulfill({ contentType: 'image/svg+xml', body: square }));
    });
    await stage.goTo(`<!doctype html><html lang="pt-BR">
      <meta http-equiv="Content-Security-Policy" content="img-src ${LOGOS} ${stage.rig.url}">
      <script type="module" src="/bank-picker/bank-picker.js"></script>
      <title>Logos</title>
      <main><h1>Logos</h1><bank-picker logo-field="logo" src="${stage.rig.url}/banks"></bank-picker></main>`);
    await stage.settled('loaded');
    expect(asked).toEqual([]);
    await stage.box().click();
    const option = (index: number) => stage.options().nth(index);
    const heights = () =>
      stage.options().evaluateAll((all) => all.slice(0, 5).map((it) => it.clientHeight));
    const before = await heights();
    for (const index of [0, 3]) await option(index).locator('.loaded').waitFor();
    expect(await heights()).toEqual(before);
    expect(asked).toContain(`${stage.rig.url}/relative.svg`);
    expect([...referers]).toEqual([undefined]);
    for (const index of [1, 2]) {
      expect(await option(index).locator('.logo').getAttribute('data-initials')).toBe('E' + index);
      await option(index).locator('img').waitFor({ state: 'detached' });
    }
    expect(await stage.page.locator('.logo img:not([alt=""])').count()).toBe(0);
    // Drawn as they come into view, and loaded a little ahead.
    expect(asked).not.toContain(`${LOGOS}/59.svg`);
    await stage.box().press('End');
    await stage.page.keyboard.press('ArrowUp');
    await stage.options().nth(59).locator('.loaded').waitFor();
    expect(await stage.violations()).toEqual([]);
    expect(stage.complaints.filter((text) => !text.includes('404'))).toEqual([]);
  });
});
