import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { describeInBrowser } from '../../../test/helpers/browser.ts';
import { createStage } from '../../../test/helpers/stage.ts';

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
    expect(await stage.ask('picker.bank.code')).toBe('479');
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

  test('logos are loaded when they come into view, and initials stand where there is none', async () => {
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
    const square =
      '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><rect width="8" height="8"/></svg>';
    await stage.page.route('**/*.svg', async (route) => {
      asked.push(route.request().url());
      expect(route.request().headers()['referer']).toBeUndefined();
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
    for (const index of [1, 2]) {
      expect(await option(index).locator('.logo').getAttribute('data-initials')).toBe('E' + index);
      expect(await option(index).locator('.loaded').count()).toBe(0);
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
