import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { describeInBrowser } from '../../../test/helpers/browser.ts';
import { createStage } from '../../../test/helpers/browser-stage.ts';

/** What a page around the picker may do to it, or it to the page. */
const HOSTS: Record<string, { readonly css: string; readonly html?: string }> = {
  'a CSS reset with opinions': {
    css: `*, ::before, ::after { margin: 0; padding: 0; border: 0; box-sizing: content-box; list-style: none; letter-spacing: 0.3em !important;
            text-transform: uppercase; line-height: 3; text-align: center; color: red; text-indent: 2em; transition: all 9s !important; }
          body { overflow: hidden; } input, button { width: 1px !important; font-size: 5px !important; display: none !important; }`,
  },
  'rules that unset everything': {
    css: '* { all: unset } head, script, style { display: none !important } div, p { display: block }',
  },
  'right to left': { css: 'body { font-family: sans-serif }', html: 'dir="rtl"' },
};

describeInBrowser('the bank picker, in a hostile page', () => {
  const stage = createStage();

  const open = async (css: string, html = ''): Promise<void> => {
    await stage.openPage(
      `<!doctype html><html lang="pt-BR" ${html}><style>${css}</style>
       <style>#slot { display: block !important; width: 420px !important; height: 420px !important; color: black; transition: none !important }</style>
       <h1>Título</h1><p>Antes <b>do</b> campo <input value="x"><button>Botão</button></p>
       <ul><li hidden>escondido</li><li>Um</li></ul><div id="slot"></div><p>Depois</p></html>`,
      { viewport: { width: 900, height: 1_300 }, reducedMotion: 'reduce' },
    );
  };
  const mount = async (): Promise<void> => {
    await stage.page.evaluate(`import('/bank-picker/bank-picker.js').then(() => {
      const picker = document.createElement('bank-picker');
      picker.label = 'Banco';
      picker.src = '${stage.rig.url}/banks';
      document.querySelector('#slot').append(picker);
    })`);
    await stage.settled('loaded');
  };
  /** The page without the place of the picker. */
  const around = async (): Promise<string> => {
    await stage.page.evaluate('document.activeElement.blur()');
    const mask = [stage.page.locator('#slot')];
    return (await stage.page.screenshot({ mask, caret: 'hide' })).toString('base64');
  };
  const choose = async (): Promise<void> => {
    await stage.box().click();
    await stage.page.keyboard.type('itau');
    await stage.options().first().click();
    expect(await stage.ask('picker.value')).toBe('60701190');
  };

  test.each(Object.entries(HOSTS))(
    '%s: neither affects the other',
    async (_name, { css, html }) => {
      await open(css, html);
      const before = await around();
      await mount();
      expect((await around()) === before).toBe(true);
      await choose();
      expect((await around()) === before).toBe(true);
      expect((await stage.page.locator('.field').boundingBox())?.height).toBeGreaterThan(44);
      expect(stage.complaints).toEqual([]);
    },
  );

  test('an ancestor that clips, transforms and stacks does not cut off the list', async () => {
    await open(
      '#slot { height: 60px !important; overflow: hidden; transform: translateX(40px); z-index: 0 }',
    );
    await mount();
    await stage.box().fill('itau');
    const field = await stage.page.locator('.field').boundingBox();
    const list = await stage.page.locator('.popup').boundingBox();
    expect([list?.x, list?.width]).toEqual([field?.x, field?.width]);
    await stage.options().nth(4).click();
    expect(await stage.ask('picker.bank.code')).toBe('652');
  });

  test.each([
    ['', {}],
    ['label="Seu banco"', {}],
    ['label="Seu banco" help="O banco da conta que recebe o salário."', {}],
    ['label="Seu banco"', { viewport: { width: 320, height: 640 } }],
  ])(
    'with the CSS of the README nothing moves when the element is defined: %s',
    async (attributes, context) => {
      const readme = readFileSync('packages/bank-picker/README.md', 'utf8');
      const [, css = ''] = /```css\n(bank-picker:not\(:defined\)[^]*?)```/.exec(readme) ?? [];
      expect(css).not.toBe('');
      const picker = `<bank-picker src="${stage.rig.url}/banks" ${attributes}></bank-picker>`;
      await stage.openPage(
        `<!doctype html><html lang="pt-BR"><style>body { font: 16px sans-serif } ${css}</style>${picker}<p id="after">Depois</p>`,
        context,
      );
      const top = async () => (await stage.page.locator('#after').boundingBox())?.y ?? 0;
      const before = await top();
      await stage.page.evaluate("import('/bank-picker/bank-picker.js')");
      await stage.settled('loaded');
      expect(Math.abs((await top()) - before)).toBeLessThan(1);
    },
  );

  test('the page’s custom properties theme the picker, and the page’s styles its parts', async () => {
    await open(
      'bank-picker { --bank-picker-accent: rgb(1, 2, 3) } bank-picker::part(field) { border-radius: 0 }',
    );
    await mount();
    await stage.box().focus();
    const style =
      await stage.ask(`(({ borderTopColor, borderTopLeftRadius }) => [borderTopColor, borderTopLeftRadius])(
      getComputedStyle(picker.shadowRoot.querySelector('[part=field]')))`);
    expect(style).toEqual(['rgb(1, 2, 3)', '0px']);
  });
});
