import { describe, expect, test } from '@jest/globals';
import { describeInBrowser } from '../kit/browser.ts';
import { eventually } from '../kit/rig.ts';
import { createStage } from './stage.ts';

const TOKEN = 'emulator-access-token';
const COOKIE = {
  name: 'session',
  value: 'private',
  domain: '127.0.0.1',
  path: '/',
  expires: -1,
  httpOnly: true,
  secure: false,
  sameSite: 'Lax' as const,
};

describeInBrowser('the bank picker, on another origin than the service', () => {
  const stage = createStage();
  const requestsServed = (): string[] => stage.rig.log().match(/"path":"\/banks","status":\d+/g) ?? [];

  describe('the list', () => {
    test('arrives, and the chosen bank is shown as a transfer needs it', async () => {
      await stage.start();
      await stage.visit();
      await stage.box().fill('341');
      await stage.options().first().click();
      expect(await stage.box().inputValue()).toBe('341 – ITAÚ UNIBANCO S.A.');
      expect(await stage.page.locator('#details dd').allTextContents()).toEqual([
        'ITAÚ UNIBANCO S.A.',
        '341',
        '60701190',
      ]);
      expect(stage.complaints).toEqual([]);
    });

    test('is asked for without a secret, and none comes back', async () => {
      await stage.start();
      await stage.visit({ storageState: { cookies: [COOKIE], origins: [] } });
      // Cookies do not look at ports: the browser would send this one to the service, too.
      const [document] = stage.requests;
      expect(await document?.headerValue('cookie')).toBe('session=private');
      const banks = stage.requests.filter((request) => request.url() === `${stage.rig.url}/banks`);
      expect(banks).toHaveLength(1);
      const sent = { ...(await banks[0]?.allHeaders()) };
      expect(sent['origin']).toBe(stage.origin);
      expect(Object.keys(sent).filter((name) => /cookie|auth/.test(name))).toEqual([]);
      const response = await banks[0]?.response();
      const everything = `${await response?.text()} ${JSON.stringify(await response?.allHeaders())}`;
      expect(everything).toContain('ITAÚ');
      expect(everything).not.toContain(TOKEN);
      expect(await stage.page.content()).not.toContain(TOKEN);
    });

    test('costs no request at a reload within its max-age', async () => {
      await stage.start();
      await stage.visit();
      await stage.page.reload();
      await stage.settled('loaded');
      expect(await stage.find('341')).toContain('341');
      expect(requestsServed()).toEqual(['"path":"/banks","status":200']);
    });

    test('costs a 304 at a reload after it', async () => {
      await stage.start({ env: { BROWSER_MAX_AGE: '10ms' } });
      await stage.visit();
      await stage.page.reload();
      await stage.settled('loaded');
      expect(await stage.find('341')).toContain('341');
      await eventually(() => requestsServed().length === 2);
      expect(requestsServed()[1]).toBe('"path":"/banks","status":304');
    });

    test('gives nothing to an origin that the service does not allow', async () => {
      await stage.start({ env: { CORS_ORIGINS: 'https://another.example' } });
      await stage.open();
      await stage.settled('failed');
      expect(await stage.page.getByRole('alert').textContent()).toContain(
        'O serviço não respondeu a esta página',
      );
      const read = `fetch(${JSON.stringify(`${stage.rig.url}/banks`)}).then(() => 'read', (error) => error.name)`;
      expect(await stage.page.evaluate(read)).toBe('TypeError');
      expect(await stage.page.content()).not.toContain('ITAÚ');
    });
  });

  describe('while the provider is down', () => {
    test('nothing is to be seen of it as long as the list is fresh', async () => {
      await stage.start();
      await eventually(() => stage.rig.service.list.served() !== undefined);
      await stage.rig.emulator.behave('unavailable');
      stage.rig.clock.next();
      await eventually(() => stage.rig.service.list.status().failure !== undefined);
      await stage.visit();
      expect(await stage.find('itau')).toHaveLength(5);
      expect(await stage.page.locator('.bp-stale').textContent()).toBe('');
      expect(await stage.page.locator('.bp-failure').textContent()).toBe('');
    });

    test('a stale list is called so, and a bank can still be chosen', async () => {
      await stage.startStale();
      await stage.visit();
      expect(await stage.page.locator('.bp-stale').textContent()).toMatch(
        /^Esta lista pode estar desatualizada\. Deveria ter sido renovada há \d+ minutos/,
      );
      await stage.find('341');
      await stage.box().press('Enter');
      expect(await stage.page.locator('#bank-ispb').textContent()).toBe('60701190');
    });

    test('a cold start says that and why it failed, and asking again recovers', async () => {
      await stage.startCold();
      await stage.open();
      await stage.settled('failed');
      expect(await stage.page.getByRole('alert').textContent()).toBe(
        'Não foi possível carregar os bancosA fonte da lista está fora do ar neste momento.',
      );
      expect(await stage.page.locator('.bp-failure code').textContent()).toMatch(
        /^provider_unavailable · \S+$/,
      );
      expect(await stage.page.locator('#bank').getAttribute('aria-busy')).toBe('false');

      await stage.rig.emulator.behave('healthy');
      stage.rig.clock.next();
      await eventually(() => stage.rig.service.list.served() !== undefined);
      await stage.page.getByRole('button', { name: 'Tentar de novo' }).press('Enter');
      await stage.settled('loaded');
      expect(await stage.page.locator('.bp-failure').textContent()).toBe('');
      await stage.page.keyboard.type('341');
      expect(await stage.codes()).toContain('341');
    });

    test('a failure that says when to ask again is asked again then', async () => {
      await stage.start();
      const retryAfter = {
        'Access-Control-Allow-Origin': stage.origin,
        'Access-Control-Expose-Headers': 'Retry-After',
        'Retry-After': '12',
      };
      await stage.open({}, '?later');
      await stage.page.clock.install();
      await stage.page.route('**/banks', (route) => route.fulfill({ status: 503, headers: retryAfter }));
      await stage.page.reload();
      await stage.settled('failed');
      const countdown = stage.page.locator('.bp-wait');
      expect(await countdown.textContent()).toBe('Nova tentativa automática em 12 s');
      await stage.page.clock.runFor(2_000);
      expect(await countdown.textContent()).toBe('Nova tentativa automática em 10 s');
      await stage.page.unrouteAll();
      await stage.page.clock.runFor(10_000);
      await stage.settled('loaded');
    });

    test('a request that waits is shown as loading, and what is typed meanwhile finds banks when the list is there', async () => {
      let answer = (): void => undefined;
      await stage.start({
        before: (emulator) =>
          emulator.respondWith((_req, res) => {
            answer = () =>
              void res
                .writeHead(200, { 'content-type': 'application/json' })
                .end('[{"code":"341","ispb":"60701190","name":"ITAÚ UNIBANCO S.A."}]');
          }),
      });
      await stage.open();
      expect(await stage.page.locator('#bank').getAttribute('aria-busy')).toBe('true');
      expect(await stage.page.locator('.bp-note').textContent()).toBe('Carregando a lista de bancos…');
      await stage.box().fill('itau');
      expect(await stage.page.locator('.bp-skeleton').isVisible()).toBe(true);
      expect(await stage.box().getAttribute('aria-expanded')).toBe('false');
      answer();
      await stage.settled('loaded');
      expect(await stage.codes()).toEqual(['341']);
    });
  });
});
