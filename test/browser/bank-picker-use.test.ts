import { describe, expect, test } from '@jest/globals';
import { describeInBrowser } from '../kit/browser.ts';
import { createStage } from './stage.ts';

describeInBrowser('the bank picker, in use', () => {
  const stage = createStage();
  const expanded = () => stage.box().getAttribute('aria-expanded');
  const press = (key: string) => stage.page.keyboard.press(key);
  const type = (text: string) => stage.page.keyboard.type(text);
  const shownCode = () => stage.page.locator('#bank-code').textContent();
  const isBankShown = () => stage.page.locator('#details').isVisible();
  /** The code of the option that a screen reader is told to be active. */
  const activeCode = async (): Promise<string | null> => {
    const id = await stage.box().getAttribute('aria-activedescendant');
    return id === null ? null : stage.page.locator(`#${id}[aria-selected=true] .bp-code`).textContent();
  };
  const announced = (text: string) =>
    stage.page.getByRole('status').filter({ hasText: text }).waitFor({ state: 'attached' });

  describe('the search', () => {
    test('looks at code, ISPB and name, and neither at accents nor at case', async () => {
      await stage.start();
      await stage.visit();
      const itau = ['341', '652', '029', '184', '479'];
      expect(await stage.find('itau')).toEqual(itau);
      expect(await stage.find('ITAÚ')).toEqual(itau);
      expect(await stage.find('  unibanco   itaú ')).toEqual(['341', '652']);
      expect((await stage.find('34')).slice(0, 6)).toEqual(['340', '341', '342', '343', '348', '349']);
      expect((await stage.find('33'))[0]).toBe('033');
      expect(await stage.find('60701190')).toEqual(['341']);
      expect((await stage.find('banco do brasil'))[0]).toBe('001');
      expect(await stage.find('<b>')).not.toEqual([]);
      expect(await stage.find('nenhum banco assim')).toEqual([]);
      expect(await stage.page.locator('.bp-none').isVisible()).toBe(true);
    });

    test('marks what matched and tells screen readers how many were found', async () => {
      await stage.start();
      await stage.visit();
      await stage.find('itaub');
      expect(await stage.options().locator('mark').allTextContents()).toEqual(['ITAUB']);
      await announced('1 banco encontrado');
      await stage.find('itau');
      await announced('5 bancos encontrados');
      await stage.find('???');
      await announced('Nenhum banco encontrado');
    });

    test('draws the first options only, and the others on the way to them', async () => {
      await stage.start();
      await stage.visit();
      await stage.box().press('ArrowDown');
      expect(await stage.options().count()).toBe(50);
      expect(await stage.options().first().getAttribute('aria-setsize')).toBe('513');
      await stage.page.evaluate("document.querySelector('.bp-list').scrollTo(0, 1e6)");
      await stage.options().nth(99).waitFor({ state: 'attached' });
      await press('End');
      expect(await stage.options().count()).toBe(513);
      expect(await stage.options().last().getAttribute('aria-selected')).toBe('true');
    });
  });

  test('the keyboard does everything', async () => {
    await stage.start();
    await stage.visit();
    await press('Tab');
    await press('Tab');
    await press('Tab');
    expect(await stage.page.evaluate('document.activeElement.role')).toBe('combobox');
    expect(await expanded()).toBe('false');

    await press('Alt+ArrowDown');
    expect([await expanded(), await activeCode()]).toEqual(['true', null]);
    await press('Escape');
    expect(await expanded()).toBe('false');

    await press('ArrowDown');
    expect([await expanded(), await activeCode()]).toEqual(['true', '001']);
    await press('ArrowUp');
    expect(await activeCode()).toBe(await stage.page.locator('.bp-code').nth(512).textContent());
    await press('Home');
    expect(await activeCode()).toBe('001');
    await press('PageDown');
    expect(await stage.options().nth(10).getAttribute('aria-selected')).toBe('true');

    await type('itau');
    expect(await activeCode()).toBe(null);
    await press('End');
    await press('ArrowLeft');
    await type('x');
    expect(await stage.box().inputValue()).toBe('itaxu');
    await press('Backspace');
    await press('ArrowDown');
    await press('ArrowDown');
    expect(await activeCode()).toBe('652');
    await press('Enter');
    expect([await expanded(), await shownCode()]).toEqual(['false', '652']);

    await press('ArrowDown');
    expect([await activeCode(), await stage.options().first().getAttribute('aria-setsize')]).toEqual([
      '652',
      '513',
    ]);
    await press('Escape');
    expect(await shownCode()).toBe('652');
    await press('Escape');
    expect([await stage.box().inputValue(), await isBankShown()]).toEqual(['', false]);

    await type('033');
    await press('Enter');
    expect(await shownCode()).toBe('033');

    await press('Backspace');
    expect(await isBankShown()).toBe(false);
    await press('Tab');
    expect([await expanded(), await stage.box().getAttribute('aria-invalid')]).toEqual(['false', 'true']);
    expect(await stage.page.locator('.bp-note').textContent()).toBe(
      'Escolha um banco da lista para continuar.',
    );
  });

  test('speaks the language of the browser, or the one that the address asks for', async () => {
    await stage.start();
    const words = async () => [
      await stage.page.locator('html').getAttribute('lang'),
      await stage.page.getByRole('heading', { level: 1 }).textContent(),
      await stage.page.locator('label').textContent(),
    ];
    const portuguese = ['pt-BR', 'Para qual banco?', 'Banco de destino'];
    const english = ['en', 'Which bank?', 'Destination bank'];
    await stage.visit({ locale: 'pt-PT' });
    expect(await words()).toEqual(portuguese);
    await stage.page.getByRole('link', { name: 'English' }).click();
    await stage.settled('loaded');
    expect(await words()).toEqual(english);
    await stage.visit({ locale: 'de-DE' });
    expect(await words()).toEqual(english);
    await stage.visit({ locale: 'en-US' }, '?lang=pt');
    expect(await words()).toEqual(portuguese);
  });

  test('fits a telephone of 320 pixels and a finger', async () => {
    await stage.startStale();
    await stage.visit({ viewport: { width: 320, height: 640 }, hasTouch: true, isMobile: true });
    await stage.page.getByRole('button', { name: 'Mostrar bancos' }).tap();
    expect(await stage.page.evaluate('document.documentElement.scrollWidth')).toBe(320);
    for (const target of [stage.options().first(), stage.box()]) {
      expect((await target.boundingBox())?.height).toBeGreaterThanOrEqual(44);
    }
    await stage.options().nth(2).tap();
    expect(await shownCode()).toBe('004');
    expect(await stage.page.evaluate('document.documentElement.scrollWidth')).toBe(320);
  });

  test('nothing moves where people asked for less motion', async () => {
    await stage.start({ before: (emulator) => emulator.behave('hang') });
    const running = 'document.getAnimations().length';
    await stage.open({ reducedMotion: 'reduce' });
    await stage.box().click();
    expect(await stage.page.evaluate(running)).toBe(0);
    await stage.open({ reducedMotion: 'no-preference' });
    await stage.box().click();
    expect(await stage.page.evaluate(running)).toBeGreaterThan(0);
  });
});
