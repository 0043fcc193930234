import { describe, expect, test } from '@jest/globals';
import axe from 'axe-core';
import { describeInBrowser } from '../kit/browser.ts';
import { createStage } from './stage.ts';

describeInBrowser('the bank picker, for assistive technology', () => {
  const stage = createStage();
  const context = { reducedMotion: 'reduce' } as const;

  describe('axe finds no problem, in light and dark', () => {
    const violations = async (): Promise<unknown[]> => {
      await stage.page.evaluate(axe.source);
      const found: unknown[] = [];
      for (const colorScheme of ['light', 'dark'] as const) {
        await stage.page.emulateMedia({ colorScheme });
        found.push(
          await stage.page.evaluate(`axe.run({ resultTypes: ['violations'] }).then(({ violations }) =>
            violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`),
        );
      }
      return found.flat();
    };

    test('while the list loads', async () => {
      await stage.start({ before: (emulator) => emulator.behave('hang') });
      await stage.open(context);
      await stage.box().click();
      expect(await violations()).toEqual([]);
    });

    test('when a bank is searched and chosen', async () => {
      await stage.visit(context);
      await stage.box().click();
      expect(await violations()).toEqual([]);
      await stage.find('nubank');
      await stage.box().press('ArrowDown');
      expect(await violations()).toEqual([]);
      await stage.box().press('Enter');
      await stage.page.getByRole('button', { name: 'Continuar' }).click();
      expect(await violations()).toEqual([]);
    });

    test('when the list is old or could not be loaded', async () => {
      await stage.passOutage(4);
      await stage.visit(context);
      expect(await violations()).toEqual([]);
      await stage.startCold();
      await stage.open(context);
      await stage.settled('failed');
      expect(await violations()).toEqual([]);
    });
  });

  describe('Chromium exposes to assistive technology', () => {
    const NEXT = 'button "Continuar"';

    test('the open list, its groups and every bank with its numbers', async () => {
      await stage.visit();
      await stage.box().click();
      const tree = await stage.tree();
      expect(tree.slice(0, 16)).toEqual([
        'combobox "Banco de destino" focused required expanded',
        'button "Mostrar bancos" expanded',
        'listbox "Bancos"',
        'group "Mais procurados"',
        'option "Nubank NU PAGAMENTOS - IP 260 ISPB 18236120"',
        'option "ITAÚ UNIBANCO S.A. 341 ISPB 60701190"',
        'option "CAIXA ECONOMICA FEDERAL 104 ISPB 00360305"',
        'option "BCO BRADESCO S.A. 237 ISPB 60746948"',
        'option "BCO DO BRASIL S.A. 001 ISPB 00000000"',
        'option "BCO SANTANDER (BRASIL) S.A. 033 ISPB 90400888"',
        'option "BANCO INTER 077 ISPB 00416968"',
        'option "MERCADO PAGO IP LTDA. 323 ISPB 10573521"',
        'option "PICPAY 380 ISPB 22896431"',
        'option "BCO C6 S.A. 336 ISPB 31872495"',
        'group "Outros bancos"',
        'option "BCO DA AMAZONIA S.A. 003 ISPB 04902979"',
      ]);
      expect(tree.at(-1)).toBe(NEXT);
    });

    test('the banks found, the active one and the chosen one', async () => {
      await stage.visit();
      await stage.find('nubank');
      const buttons = ['button "Limpar"', 'button "Mostrar bancos" expanded'];
      const others = ['option "Nubank Investimentos NU INVESTIMENTOS S.A. - CTVM 140 ISPB 62169875"', NEXT];
      const found = 'combobox "Banco de destino" = "nubank" focused required expanded';
      const nubank = 'option "Nubank NU PAGAMENTOS - IP 260 ISPB 18236120"';
      expect(await stage.tree()).toEqual([found, ...buttons, 'listbox "Bancos"', nubank, ...others]);
      await stage.box().press('ArrowDown');
      const active = `${nubank} selected`;
      expect(await stage.tree()).toEqual([found, ...buttons, 'listbox "Bancos"', active, ...others]);
      await stage.box().press('Enter');
      expect(await stage.tree()).toEqual([
        'combobox "Banco de destino" = "NU PAGAMENTOS - IP" ("Código 260 · ISPB 18236120") focused required',
        'button "Limpar"',
        'button "Mostrar bancos"',
        NEXT,
      ]);
    });

    test('a list that could not be loaded', async () => {
      await stage.startCold();
      await stage.open();
      await stage.settled('failed');
      await stage.box().focus();
      expect(await stage.tree()).toEqual([
        'combobox "Banco de destino" ("Não conseguimos carregar os bancos agora. Tente novamente em instantes.") focused required',
        'alert ""',
        'button "Tentar novamente"',
        NEXT,
      ]);
    });
  });
});
