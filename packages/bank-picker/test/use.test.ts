import { expect, test } from '@jest/globals';
import { describeInBrowser } from '../../../test/helpers/browser.ts';
import { createStage } from '../../../test/helpers/browser-stage.ts';

describeInBrowser('the bank picker, in use', () => {
  const stage = createStage();
  const expanded = () => stage.box().getAttribute('aria-expanded');
  const press = (key: string) => stage.page.keyboard.press(key);
  const type = (text: string) => stage.page.keyboard.type(text);
  const text = () => stage.box().inputValue();
  const code = () => stage.ask<string | null>('picker.bank && picker.bank.code');
  /** The code of the option that is active for screen readers. */
  const activeCode = async (): Promise<string | null> => {
    const id = await stage.box().getAttribute('aria-activedescendant');
    if (id === null) return null;
    // Fails if there are several.
    const selected = stage.page.locator('[aria-selected=true]');
    expect(await selected.getAttribute('id')).toBe(id);
    return selected.locator('.code').textContent();
  };
  const expectAnnounced = (message: string) =>
    stage.page.getByRole('status').filter({ hasText: message }).waitFor({ state: 'attached' });
  const note = () => stage.page.locator('#note').textContent();

  test('a bank is found, chosen and changed by keyboard alone', async () => {
    await stage.visit();
    for (let times = 0; times < 3; times += 1) await press('Tab');
    expect(await stage.ask('picker.shadowRoot.activeElement.role')).toBe('combobox');
    expect(await expanded()).toBe('false');
    await press('Alt+ArrowDown');
    expect([await expanded(), await activeCode()]).toEqual(['true', null]);
    await press('Escape');
    expect(await expanded()).toBe('false');
    await press('ArrowDown');
    expect([await expanded(), await activeCode()]).toEqual(['true', '260']);
    await press('ArrowUp');
    expect(await activeCode()).toBe(await stage.options().nth(512).locator('.code').textContent());
    await press('Home');
    await press('PageDown');
    expect(await stage.options().nth(10).getAttribute('aria-selected')).toBe('true');

    await type('itau');
    expect(await activeCode()).toBe(null);
    await press('End');
    await press('ArrowLeft');
    await type('x');
    expect(await text()).toBe('itaxu');
    await press('Backspace');
    await press('ArrowDown');
    await press('ArrowDown');
    expect(await activeCode()).toBe('184');
    // There are fewer than ten.
    await press('PageDown');
    expect(await stage.options().last().getAttribute('aria-selected')).toBe('true');
    await press('PageUp');
    await press('ArrowDown');
    expect(await activeCode()).toBe('184');
    await press('Enter');
    expect([await expanded(), await code(), await text()]).toEqual([
      'false',
      '184',
      'BCO ITAÚ BBA S.A.',
    ]);
    expect(await note()).toBe('Código 184 · ISPB 17298092');
    await expectAnnounced('Banco selecionado: BCO ITAÚ BBA S.A.');

    await press('ArrowDown');
    expect(await activeCode()).toBe('184');
    for (const [attribute, value] of [
      ['aria-posinset', '1'],
      ['aria-setsize', '513'],
    ] as const)
      expect(await stage.options().first().getAttribute(attribute)).toBe(value);
    expect(await stage.page.getByRole('option', { selected: true }).isVisible()).toBe(true);
    await press('Escape');
    expect([await code(), await activeCode()]).toEqual(['184', null]);
  });

  test('Enter chooses the active option or the first one, but a guess only when it is active', async () => {
    await stage.visit();
    const entered = async (typed: string) => {
      await stage.box().fill(typed);
      await press('Enter');
      return [await code(), await activeCode()];
    };
    await stage.box().fill('033');
    // It ends the input of a character.
    await stage.ask(
      "picker.shadowRoot.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', isComposing: true }))",
    );
    expect(await code()).toBe(null);
    expect(await entered('033')).toEqual(['033', null]);
    expect(await entered('nubank')).toEqual(['260', null]);
    await expectAnnounced('Banco selecionado: Nubank, NU PAGAMENTOS - IP');
    expect(await entered('nub')).toEqual(['260', null]);
    expect(await entered('bb')).toEqual(['001', null]);
    for (const guess of ['bradezco', 'br', 'bradesco exclusive']) {
      expect(await entered(guess)).toEqual([null, '237']);
      await press('Enter');
      expect(await code()).toBe('237');
    }
  });

  test('Tab chooses the active option, the bank that the text names, or the only one', async () => {
    await stage.visit();
    const left = async (typed: string, ...keys: string[]) => {
      await stage.box().fill(typed);
      for (const key of [...keys, 'Tab']) await press(key);
      return [await code(), await text()];
    };
    expect(await left('341')).toEqual(['341', 'ITAÚ UNIBANCO S.A.']);
    expect(await left('nubank')).toEqual(['260', 'NU PAGAMENTOS - IP']);
    expect(await left('itauban')).toEqual(['479', 'BCO ITAUBANK S.A.']);
    expect(await left('bra', 'ArrowDown')).toEqual(['237', 'BCO BRADESCO S.A.']);
    for (const unclear of ['nub', 'intermedium', 'celcoin'])
      expect(await left(unclear)).toEqual([null, unclear]);
  });

  test('Escape restores the chosen bank and discards nothing', async () => {
    await stage.visit();
    // A framework writes the value back that it has just been told.
    await stage.ask(
      'void picker.addEventListener("input", () => { picker.value = picker.value; })',
    );
    await stage.box().fill('341');
    await press('Enter');
    // Letter by letter: the first one already ends the choice.
    await stage.box().selectText();
    await type('nub');
    expect([await text(), await code()]).toEqual(['nub', null]);
    await press('Escape');
    expect([await text(), await code(), await expanded()]).toEqual([
      'ITAÚ UNIBANCO S.A.',
      '341',
      'false',
    ]);
    await press('Escape');
    await press('Escape');
    expect([await text(), await code()]).toEqual(['ITAÚ UNIBANCO S.A.', '341']);

    await stage.page.getByRole('button', { name: 'Limpar' }).click();
    await type('nub');
    await press('Escape');
    expect([await text(), await expanded()]).toEqual(['nub', 'false']);
  });

  test('an Escape that closes nothing reaches the dialog around the field', async () => {
    await stage.openPage(`<!doctype html><dialog><bank-picker src="${stage.rig.url}/banks"></bank-picker></dialog>
      <script type="module" src="/bank-picker/bank-picker.js"></script>`);
    await stage.settled('loaded');
    await stage.page.evaluate("document.querySelector('dialog').showModal()");
    const isOpen = () => stage.page.evaluate("document.querySelector('dialog').open");
    await stage.box().fill('nub');
    expect(await stage.options().first().isVisible()).toBe(true);
    await press('Escape');
    expect([await isOpen(), await expanded()]).toEqual([true, 'false']);
    await press('Escape');
    expect(await isOpen()).toBe(false);
  });

  test('screen readers announce how many banks there are and were found', async () => {
    await stage.visit();
    await stage.box().click();
    await expectAnnounced('513 bancos disponíveis');
    await type('itauban');
    await expectAnnounced('1 banco encontrado');
    await stage.box().fill('itau');
    await expectAnnounced('5 bancos encontrados');
    await stage.box().fill('???');
    await expectAnnounced('Nenhum banco encontrado');
  });

  test("uses the page's language, and the page's own texts", async () => {
    const words = async () => [
      await stage.page.getByRole('heading', { level: 1 }).textContent(),
      await stage.box().getAttribute('aria-label'),
      await stage.box().getAttribute('placeholder'),
    ];
    const portuguese = ['Para qual banco?', 'Banco de destino', 'Nome ou código do banco'];
    const english = ['Which bank?', 'Destination bank', 'Bank name or code'];
    await stage.visit({ locale: 'pt-PT' });
    expect(await words()).toEqual(portuguese);
    await stage.page.getByRole('link', { name: 'English' }).click();
    await stage.settled('loaded');
    expect(await words()).toEqual(english);
    await stage.ask("picker.lang = 'pt-BR'");
    expect((await words())[2]).toBe('Nome ou código do banco');
    await stage.ask("picker.strings = { placeholder: 'Procure', popular: 'Favoritos' }");
    await stage.box().click();
    expect(await stage.page.getByRole('group').first().getAttribute('aria-labelledby')).toBe(
      'group-0',
    );
    expect(await stage.page.locator('#group-0').textContent()).toBe('Favoritos');
    expect((await words())[2]).toBe('Procure');
    await stage.visit({ locale: 'de-DE' });
    expect(await words()).toEqual(english);
  });

  test('on a phone of 320 pixels everything fits, and can be tapped', async () => {
    await stage.passOutage(3);
    const viewport = { width: 320, height: 256 };
    await stage.visit({ viewport, hasTouch: true, isMobile: true });
    const width = () => stage.page.evaluate('document.documentElement.scrollWidth');
    await stage.page.getByRole('button', { name: 'Mostrar bancos' }).tap();
    expect(await width()).toBe(320);
    const popup = await stage.page.locator('.popup').boundingBox();
    expect(popup?.y).toBeGreaterThanOrEqual(0);
    expect((popup?.y ?? 0) + (popup?.height ?? 0)).toBeLessThanOrEqual(viewport.height);
    for (const target of [stage.options().first(), stage.box()])
      expect((await target.boundingBox())?.height).toBeGreaterThanOrEqual(44);
    await stage.options().nth(2).tap();
    expect(await code()).toBe('104');
    expect(await width()).toBe(320);
  });

  test('nothing moves if the user prefers reduced motion', async () => {
    await stage.start({ before: (emulator) => emulator.behave('hang') });
    await stage.open({ reducedMotion: 'reduce' });
    await stage.box().click();
    const running = () => stage.ask<number>('picker.shadowRoot.getAnimations().length');
    expect(await running()).toBe(0);
    await stage.page.emulateMedia({ reducedMotion: 'no-preference' });
    expect(await running()).toBeGreaterThan(0);
  });
});
