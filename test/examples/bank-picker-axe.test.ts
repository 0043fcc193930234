import { describe, expect, test } from '@jest/globals';
import { describeInBrowser } from '../kit/browser.ts';
import { createStage } from './stage.ts';

describeInBrowser('the bank picker, for assistive technology', () => {
  const stage = createStage();
  const context = { reducedMotion: 'reduce' } as const;

  /** What is read after the name of the field, which must be known as required. */
  const describedBy = async (): Promise<unknown> => {
    const box = stage.box();
    expect(await box.getAttribute('aria-required')).toBe('true');
    const ids = (await box.getAttribute('aria-describedby'))?.split(' ') ?? [];
    return Promise.all(ids.map((id) => stage.page.locator(`#${id}`).textContent()));
  };

  describe('axe finds no problem, in light and dark', () => {
    test('while the list loads', async () => {
      await stage.start({ before: (emulator) => emulator.behave('hang') });
      await stage.open(context);
      await stage.box().click();
      expect(await stage.violations()).toEqual([]);
    });

    test('when a bank is searched and chosen', async () => {
      await stage.visit(context);
      await stage.box().click();
      expect(await stage.violations()).toEqual([]);
      await stage.find('nubank');
      await stage.box().press('ArrowDown');
      expect(await stage.violations()).toEqual([]);
      await stage.box().press('Enter');
      await stage.page.getByRole('button', { name: 'Continuar' }).click();
      expect(await stage.violations()).toEqual([]);
    });

    test('when the list is old or could not be loaded', async () => {
      await stage.passOutage(4);
      await stage.visit(context);
      expect(await stage.violations()).toEqual([]);
      await stage.startCold();
      await stage.open(context);
      await stage.settled('failed');
      expect(await stage.violations()).toEqual([]);
      await stage.box().focus();
      expect((await stage.tree()).slice(0, 3)).toEqual([
        'combobox "Banco de destino"',
        'alert',
        'button "Tentar novamente"',
      ]);
      expect(await describedBy()).toEqual([
        'Não conseguimos carregar os bancos agora. Tente novamente em instantes.',
      ]);
    });
  });

  describe('assistive technology finds', () => {
    const NEXT = 'button "Continuar"';

    test('the open list, its groups and the banks with their numbers', async () => {
      await stage.visit();
      await stage.box().click();
      const tree = await stage.tree();
      expect(tree.slice(0, 5)).toEqual([
        'combobox "Banco de destino" [expanded]',
        'button "Mostrar bancos" [expanded]',
        'listbox "Bancos"',
        'group "Mais procurados"',
        'option "Nubank NU PAGAMENTOS - IP 260 ISPB 18236120"',
      ]);
      expect(tree[14]).toBe('group "Outros bancos"');
      expect(tree.at(-1)).toBe(NEXT);
    });

    test('the banks found, the active one and the chosen one', async () => {
      await stage.visit();
      await stage.find('nubank');
      const buttons = ['button "Limpar"', 'button "Mostrar bancos" [expanded]'];
      const others = ['option "Nubank Investimentos NU INVESTIMENTOS S.A. - CTVM 140 ISPB 62169875"', NEXT];
      const found = 'combobox "Banco de destino" [expanded]: nubank';
      const nubank = 'option "Nubank NU PAGAMENTOS - IP 260 ISPB 18236120"';
      expect(await stage.tree()).toEqual([found, ...buttons, 'listbox "Bancos"', nubank, ...others]);
      await stage.box().press('ArrowDown');
      const active = `${nubank} [selected]`;
      expect(await stage.tree()).toEqual([found, ...buttons, 'listbox "Bancos"', active, ...others]);
      await stage.box().press('Enter');
      expect(await stage.tree()).toEqual([
        'combobox "Banco de destino": NU PAGAMENTOS - IP',
        'button "Limpar"',
        'button "Mostrar bancos"',
        NEXT,
      ]);
      expect(await describedBy()).toEqual(['Código 260 · ISPB 18236120']);
    });
  });
});
