import { expect, test } from '@jest/globals';
import { describeInBrowser } from '../../../test/helpers/browser.ts';
import { createStage } from '../../../test/helpers/browser-stage.ts';

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

  test('when the list is old or could not be loaded, axe finds no problem, and the field says so', async () => {
    await stage.passOutage(4);
    await stage.visit(context);
    expect(await stage.violations()).toEqual([]);
    await stage.startCold();
    await stage.open(context);
    await stage.settled('failed');
    expect(await stage.violations()).toEqual([]);
    // Without an automatic retry, during which the button has another name.
    await stage.holdTime();
    await stage.page.reload();
    await stage.settled('failed');
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

  test.each([
    ['MacIntel', true],
    ['Win32', false],
  ])('on %s the live region repeats the active option: %s', async (platform, isRepeated) => {
    await stage.openPage(`<!doctype html><html lang="pt-BR"><script>
        Object.defineProperty(Navigator.prototype, 'platform', { get: () => '${platform}' });
        globalThis.heard = [];
      </script>
      <script type="module" src="/bank-picker/bank-picker.js"></script>
      <bank-picker src="${stage.rig.url}/banks"></bank-picker>`);
    await stage.settled('loaded');
    await stage.holdTime();
    await stage.page.reload();
    await stage.settled('loaded');
    const announced = async (...keys: string[]): Promise<string | null> => {
      for (const key of keys) await stage.page.keyboard.press(key);
      await stage.page.clock.runFor(1_000);
      return stage.page.getByRole('status').textContent();
    };
    const expectAnnounced = async (keys: string[], text: string, otherwise: string) =>
      expect(await announced(...keys)).toBe(isRepeated ? text : otherwise);
    await stage.box().focus();
    const available = '513 bancos disponíveis';
    const nubank = 'Nubank NU PAGAMENTOS - IP 260 ISPB 18236120';
    await expectAnnounced(['ArrowDown'], `${available}. Mais procurados. ${nubank}`, available);
    await expectAnnounced(['ArrowDown', 'ArrowUp'], nubank, available);
    const last = 'MÊNTORE IP S.A. 804 ISPB 32343119';
    await expectAnnounced(['ArrowUp'], `Outros bancos. ${last}`, available);
  });

  test('it finds the list, its groups, the banks found, the active and the chosen one, and axe no problem', async () => {
    await stage.visit(context);
    await stage.box().click();
    const tree = await stage.tree();
    const next = 'button "Continuar"';
    const nubank = 'option "Nubank NU PAGAMENTOS - IP 260 ISPB 18236120"';
    expect(tree.slice(0, 5)).toEqual([
      'combobox "Banco de destino" [expanded]',
      'button "Mostrar bancos" [expanded]',
      'listbox "Bancos"',
      'group "Mais procurados"',
      nubank,
    ]);
    expect([tree[14], tree.at(-1)]).toEqual(['group "Outros bancos"', next]);
    expect(await stage.violations()).toEqual([]);

    await stage.find('nubank');
    const buttons = ['button "Limpar"', 'button "Mostrar bancos" [expanded]'];
    const others = [
      'option "Nubank Investimentos NU INVESTIMENTOS S.A. - CTVM 140 ISPB 62169875"',
      next,
    ];
    const found = 'combobox "Banco de destino" [expanded]: nubank';
    expect(await stage.tree()).toEqual([found, ...buttons, 'listbox "Bancos"', nubank, ...others]);
    await stage.box().press('ArrowDown');
    const active = `${nubank} [selected]`;
    expect(await stage.tree()).toEqual([found, ...buttons, 'listbox "Bancos"', active, ...others]);
    expect(await stage.violations()).toEqual([]);

    await stage.box().press('Enter');
    expect(await stage.tree()).toEqual([
      'combobox "Banco de destino": NU PAGAMENTOS - IP',
      'button "Limpar"',
      'button "Mostrar bancos"',
      next,
    ]);
    expect(await describedBy()).toEqual(['Nubank · Código 260 · ISPB 18236120']);
    await stage.page.getByRole('button', { name: 'Continuar' }).click();
    expect(await stage.violations()).toEqual([]);
  });
});
