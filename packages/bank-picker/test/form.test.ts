import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { describeInBrowser } from '../../../test/helpers/browser.ts';
import { createStage } from '../../../test/helpers/browser-stage.ts';
import { eventually } from '../../../test/helpers/wait-until.ts';

describeInBrowser('the bank picker, as a field of a form', () => {
  const stage = createStage();
  const open = (body: string): Promise<void> =>
    stage.openPage(`<!doctype html><html lang="pt-BR"><meta name="viewport" content="width=device-width">
      <script type="module" src="/bank-picker/bank-picker.js"></script><body>${body}</body></html>`);
  const visit = async (
    attributes = '',
    around = (picker: string) => `<form>${picker}<button>Enviar</button></form>`,
  ) => {
    await open(
      around(`<bank-picker id="bank" src="${stage.rig.url}/banks" ${attributes}></bank-picker>`),
    );
    await stage.settled('loaded');
  };
  /** What the form would send. */
  const data = () => stage.ask<string>('String(new URLSearchParams(new FormData(picker.form)))');
  const text = () => stage.box().inputValue();
  const note = () => stage.page.locator('#note').textContent();
  const choose = async (query: string) => {
    await stage.box().fill(query);
    await stage.box().press('Enter');
  };

  test('the page of the README sends the chosen bank', async () => {
    const [page = ''] =
      /<!doctype html>[^]*?(?=```)/.exec(readFileSync('packages/bank-picker/README.md', 'utf8')) ??
      [];
    await stage.openPage(page.replace('http://localhost:3000', stage.rig.url));
    await stage.settled('loaded');
    await choose('341');
    await stage.page.getByRole('button', { name: 'Continuar' }).click();
    await stage.page.waitForURL('**/?bank=60701190');
    expect(stage.complaints).toEqual([]);
  });

  test('its value is in FormData, a number becomes a text, and its events carry the bank', async () => {
    await visit('name="bank"');
    await stage.ask(`void (globalThis.heard = [], ['input', 'change'].forEach((type) =>
      picker.form.addEventListener(type, ({ detail, target }) => heard.push([type, detail && detail.code, target.value].join()))))`);
    const heard = () => stage.ask('heard.splice(0)');
    expect(await data()).toBe('bank=');
    await choose('341');
    expect(await heard()).toEqual(['input,341,60701190', 'change,341,60701190']);
    expect(await data()).toBe('bank=60701190');
    const itau = { code: '341', ispb: '60701190', name: 'ITAÚ UNIBANCO S.A.' };
    expect(await stage.ask('picker.bank')).toEqual(itau);

    await stage.box().press('Backspace');
    expect(await heard()).toEqual(['input,,']);
    expect(await data()).toBe('bank=');
    await stage.box().press('Escape');
    expect(await heard()).toEqual(['input,341,60701190']);
    await stage.page.getByRole('button', { name: 'Limpar' }).click();
    expect(await heard()).toEqual(['input,,', 'change,,']);
    for (const value of ["'18236120'", "''", '18236120']) {
      await stage.ask(`void (picker.value = ${value})`);
      expect(await heard()).toEqual([]);
    }
    expect([await data(), await text()]).toEqual(['bank=18236120', 'NU PAGAMENTOS - IP']);
    expect(await stage.ask('picker.value')).toBe('18236120');
  });

  test('a required one blocks submission with a message, and so does text that is not a bank', async () => {
    await visit('name="bank" required label="Banco"');
    await stage.ask(
      "void (globalThis.sent = 0, picker.form.addEventListener('submit', (event) => { event.preventDefault(); sent += 1; }))",
    );
    const submit = async () => {
      await stage.page.getByRole('button', { name: 'Enviar' }).click();
      return stage.ask('[sent, picker.validationMessage, picker.matches(":focus")]');
    };
    expect(await submit()).toEqual([0, 'Escolha um banco.', true]);
    expect(await note()).toBe('Escolha um banco.');
    expect(await stage.box().getAttribute('aria-invalid')).toBe('true');
    await stage.box().fill('nub');
    await stage.box().press('Escape');
    expect(await submit()).toEqual([0, 'Escolha um banco da lista.', true]);
    expect(await note()).toBe('Escolha um banco da lista.');
    await choose('nubank');
    expect(await note()).toBe('Nubank · Código 260 · ISPB 18236120');
    expect(await submit()).toEqual([1, '', false]);
    await stage.box().press('Enter');
    expect(await stage.ask('sent')).toBe(2);
    await stage.ask("picker.setCustomValidity('Outro banco, por favor.')");
    expect(await submit()).toEqual([2, 'Outro banco, por favor.', true]);
  });

  test('an error is shown when the form is sent or reports its errors or text is left, and not when a script only looks for them', async () => {
    await visit(
      'required',
      (picker) =>
        `<form><input id="first" required>${picker}<button>Enviar</button></form><button id="after">Depois</button>`,
    );
    // As pages do that enable their button with it.
    await stage.ask(`void ['input', 'change'].forEach((type) =>
      picker.form.addEventListener(type, () => picker.form.checkValidity()))`);
    const isShown = () => stage.ask<boolean>('picker.shadowRoot.querySelector(".wrong") !== null');
    /** Whether an act shows the error, beginning without one. */
    const shows = async (act: () => Promise<unknown>) => {
      await stage.ask(
        "void (picker.required = false, picker.required = true, picker.value = '', first.value = 'x', after.focus())",
      );
      expect(await isShown()).toBe(false);
      await act();
      return isShown();
    };
    const run = (script: string) => shows(() => stage.ask(`void (${script})`));
    for (const script of ['picker.form.checkValidity()', 'picker.checkValidity()'])
      expect([script, await run(script)]).toEqual([script, false]);
    const typeAndLeave = async () => {
      await stage.page.locator('#first').pressSequentially('y');
      await stage.page.keyboard.press('Tab');
    };
    expect(await shows(typeAndLeave)).toBe(false);
    const chooseAndDelete = async () => {
      await choose('341');
      await stage.box().fill('');
    };
    expect(await shows(chooseAndDelete)).toBe(false);
    const leaveWithoutBank = async () => {
      await stage.box().fill('nub');
      await stage.box().press('Tab');
    };
    expect(await shows(leaveWithoutBank)).toBe(true);

    for (const script of [
      'picker.reportValidity()',
      'picker.form.reportValidity()',
      'picker.form.requestSubmit()',
      "first.value = '', picker.form.reportValidity()",
      "document.querySelector('form button').click()",
    ])
      expect([script, await run(script)]).toEqual([script, true]);
    const click = () => stage.page.getByRole('button', { name: 'Enviar' }).click();
    expect(await shows(click)).toBe(true);
    expect(await shows(() => stage.box().press('Enter'))).toBe(true);
    expect(await shows(() => stage.page.locator('#first').press('Enter'))).toBe(true);
    const otherIsFirst = () => stage.page.locator('#first').fill('').then(click);
    expect(await shows(otherIsFirst)).toBe(true);
  });

  test('Enter sends the form by its first button, as in a native text field', async () => {
    await open(`<script>document.addEventListener('click', (event) => {
      event.preventDefault();
      globalThis.sentBy = event.target.id;
    })</script>`);
    const picker = `<bank-picker name="bank" src="${stage.rig.url}/banks"></bank-picker>`;
    /** Which button an Enter in the picker clicks, or one in a native field in its place. */
    const sentBy = async (field: string, html: string) => {
      const form = JSON.stringify(`<form id="form">${html.replace('{}', field)}</form>`);
      await stage.page.evaluate(`document.body.innerHTML = ${form}; sentBy = 'not sent'`);
      await stage.page.locator(field === picker ? '[role=combobox]' : '#native').press('Enter');
      return stage.page.evaluate('sentBy');
    };
    for (const [html, expected] of [
      ['{}<input name="elements"><button type="button">Ver</button><button id="go">', 'go'],
      ['{}<input><input type="image" id="image"><button>', 'image'],
      ['{}<button disabled></button><button>', 'not sent'],
      ['{}</form><button form="form" id="outside">', 'outside'],
      ['</form>{}<button id="of no form">', 'not sent'],
    ] as const)
      for (const field of ['<input id="native">', picker])
        expect([html, field, await sentBy(field, html)]).toEqual([html, field, expected]);
    expect(stage.complaints).toEqual([]);
  });

  test('the browser restores it when the user navigates back', async () => {
    await visit('name="bank"');
    await choose('341');
    await stage.page.goto('about:blank');
    await stage.page.goBack();
    await stage.settled('loaded');
    // The page was loaded again, not kept in memory.
    expect(stage.requests.filter((request) => request.isNavigationRequest())).toHaveLength(2);
    expect([await data(), await text()]).toEqual(['bank=60701190', 'ITAÚ UNIBANCO S.A.']);
  });

  test('a form resets it and a fieldset disables it', async () => {
    await visit(
      'name="bank" value="00000000"',
      (picker) => `<form><fieldset>${picker}</fieldset></form>`,
    );
    expect(await text()).toBe('BCO DO BRASIL S.A.');
    await choose('341');
    // What a person has chosen stays.
    await stage.ask("picker.setAttribute('value', '18236120')");
    expect(await data()).toBe('bank=60701190');
    await stage.ask("picker.setAttribute('value', '00000000')");
    await stage.ask('picker.form.reset()');
    expect([await data(), await text()]).toEqual(['bank=00000000', 'BCO DO BRASIL S.A.']);
    // As in native fields, it then follows its attribute again.
    await stage.ask("picker.setAttribute('value', '18236120')");
    expect([await data(), await text()]).toEqual(['bank=18236120', 'NU PAGAMENTOS - IP']);
    await stage.ask('void (picker.closest("fieldset").disabled = true)');
    expect([await data(), await stage.box().isDisabled()]).toEqual(['', true]);
    await stage.ask('void (picker.closest("fieldset").disabled = false)');
    expect(await stage.box().isDisabled()).toBe(false);
  });

  test('a filter decides which banks are offered, and no other can be the value', async () => {
    await visit(
      'name="bank" required',
      (picker) => `<form>${picker}<button>Enviar</button></form>`,
    );
    await stage.ask(
      "void picker.addEventListener('missing', ({ detail }) => (globalThis.heard = detail))",
    );
    await choose('341');
    await stage.ask("void (picker.filter = ({ name }) => !name.includes('ITAÚ'))");
    expect(await stage.ask('[heard, picker.value, picker.validity.valueMissing]')).toEqual([
      '60701190',
      '',
      true,
    ]);
    expect(await note()).toBe('O banco ITAÚ UNIBANCO S.A. não está na lista. Escolha outro.');
    // The note stays for as long as it is true.
    await stage.ask("void (picker.filter = ({ code }) => code !== '341')");
    expect(await note()).toMatch(/^O banco ITAÚ/);
    await stage.ask('void (picker.filter = null)');
    expect([await note(), await stage.ask('picker.value')]).toEqual(['', '']);
    await stage.ask("void (picker.filter = ({ name }) => !name.includes('ITAÚ'))");
    await stage.box().fill('60701190');
    expect(await stage.codes()).toEqual([]);
    await stage.box().fill('nub');
    await stage.ask("void (picker.filter = ({ ispb }) => ispb === '18236120')");
    expect(await stage.codes()).toEqual(['260']);
    await stage.box().press('Enter');
    expect(await data()).toBe('bank=18236120');
    await stage.ask("void (picker.filter = ({ ispb }) => ispb === '18236120')");
    expect([await data(), await text()]).toEqual(['bank=18236120', 'NU PAGAMENTOS - IP']);
    await stage.ask('void (picker.filter = null, picker.value = "60701190")');
    expect([await data(), await note()]).toEqual(['bank=60701190', 'Código 341 · ISPB 60701190']);
    // It throws for one bank only.
    await stage.ask('void (picker.filter = ({ code }) => code === "341" ? missing() : true)');
    expect(await stage.ask('picker.value')).toBe('');
    expect(stage.complaints).toEqual(['missing is not defined']);
  });

  test('a bank that has left the list is reported, and blocks the form only where one is required', async () => {
    await visit('name="bank" value="99999999"');
    expect(await note()).toBe('O banco 99999999 não está na lista. Escolha outro.');
    expect(await text()).toBe('');
    expect(await stage.ask('[picker.value, picker.checkValidity()]')).toEqual(['', true]);
    await stage.ask(
      "void picker.addEventListener('missing', ({ detail }) => (globalThis.heard = detail))",
    );
    await stage.ask("void Object.assign(picker, { required: true, value: '12345678' })");
    const wrong = await stage.ask(
      '[heard, picker.validity.valueMissing, picker.validity.badInput]',
    );
    expect(wrong).toEqual(['12345678', true, false]);
    await choose('341');
    expect(await note()).toBe('Código 341 · ISPB 60701190');
    expect(await stage.ask('picker.checkValidity()')).toBe(true);
  });

  test('a value is kept while the list cannot be loaded', async () => {
    // No automatic retry takes the button away.
    stage.holdTimeFromStart();
    await stage.startCold();
    await open(
      `<form><bank-picker name="bank" required value="60701190" src="${stage.rig.url}/banks"></bank-picker></form>`,
    );
    await stage.settled('failed');
    expect(await data()).toBe('bank=60701190');
    expect(await stage.ask('[picker.bank, picker.checkValidity()]')).toEqual([null, true]);
    await stage.repair();
    await stage.page.getByRole('button', { name: 'Tentar novamente' }).click();
    await stage.settled('loaded');
    expect(await text()).toBe('ITAÚ UNIBANCO S.A.');
    expect(await stage.ask('picker.shadowRoot.activeElement.id')).toBe('input');
  });

  test('a label around it gives it its name and its focus', async () => {
    await visit('', (picker) => `<form><label>Seu banco ${picker}</label></form>`);
    expect((await stage.tree())[0]).toBe('combobox "Seu banco"');
    await stage.page.getByText('Seu banco').click({ position: { x: 3, y: 3 } });
    expect(await stage.ask('picker.shadowRoot.activeElement.id')).toBe('input');
  });

  test('aria-labelledby gives it its name, before aria-label', async () => {
    await visit(
      'aria-label="Banco"',
      (picker) => `<h2 id="one">Banco de</h2><b id="two"> destino </b>${picker}`,
    );
    const name = async () => (await stage.tree())[0];
    expect(await name()).toBe('combobox "Banco"');
    await stage.ask("void picker.setAttribute('aria-labelledby', 'one  missing two')");
    expect(await name()).toBe('combobox "Banco de destino"');
    // What is named may change.
    await stage.ask("void (two.textContent = 'origem', picker.focus())");
    expect(await name()).toBe('combobox "Banco de origem"');
    await stage.ask("void picker.setAttribute('aria-labelledby', 'missing')");
    expect(await name()).toBe('combobox "Banco"');
  });

  test('attributes set other field names; without an id the code is the value, and names are needed', async () => {
    await stage.start({ env: { BANK_FIELDS: 'numero:code,titulo:name' } });
    await visit('name="bank" code-field="numero" name-field="titulo"');
    await choose('341');
    expect(await data()).toBe('bank=341');
    expect(await stage.ask('picker.bank')).toEqual({ numero: '341', titulo: 'ITAÚ UNIBANCO S.A.' });
    await stage.ask("void (picker.nameField = 'title')");
    await stage.settled('failed');
    expect(await stage.page.locator('.reference').textContent()).toMatch(
      /^Código do erro: no_usable_bank/,
    );
  });

  test('what another attempt cannot mend is told to the developer, once', async () => {
    stage.holdTimeFromStart();
    await open('');
    const warnings: string[] = [];
    stage.page.on('console', (message) => void warnings.push(message.text()));
    const add = (attributes: string) =>
      stage.page.evaluate(`document.body.innerHTML = '<bank-picker ${attributes}></bank-picker>'`);
    await add('');
    await eventually(() => warnings.length === 1);
    await add(`src="${stage.rig.url}/banks" name-field="title"`);
    await stage.settled('failed');
    await stage.leave('failed');
    await stage.settled('failed');
    await stage.page.route('**/banks', (route) => route.fulfill({ body: '{}' }));
    await add('src="/banks"');
    await stage.settled('failed');
    await eventually(() => warnings.length === 3);
    expect(warnings).toEqual([
      expect.stringContaining('no src'),
      expect.stringContaining('check id-field, code-field and name-field'),
      expect.stringContaining('src gives no list'),
    ]);
  });

  test('it takes properties that were set before it was defined', async () => {
    await stage.openPage('<!doctype html><body></body>');
    await stage.page.evaluate(`(async () => {
      const picker = document.createElement('bank-picker');
      Object.assign(picker, { src: '${stage.rig.url}/banks', value: '60701190', strings: { clear: 'Apagar' }, required: true });
      document.body.append(picker);
      await import('/bank-picker/bank-picker.js');
    })()`);
    await stage.settled('loaded');
    const taken = await stage.ask('[picker.value, picker.required, Object.keys(picker)]');
    expect(taken).toEqual(['60701190', true, []]);
    expect(await stage.page.getByRole('button', { name: 'Apagar' }).isVisible()).toBe(true);
  });

  test('it leaves nothing running when it is removed, and works again when it is put back', async () => {
    await stage.start({ before: (emulator) => emulator.behave('hang') });
    await open(`<form><bank-picker src="${stage.rig.url}/banks"></bank-picker></form>`);
    await eventually(() => stage.listRequests.length === 1);
    const cancelled = stage.page.waitForEvent('requestfailed');
    await stage.ask('void (globalThis.kept = picker, picker.remove())');
    expect((await cancelled).failure()?.errorText).toBe('net::ERR_ABORTED');

    await stage.startCold();
    await stage.page.evaluate(`kept.src = '${stage.rig.url}/banks'`);
    await stage.holdTime();
    await stage.page.evaluate('document.forms[0].append(kept)');
    await stage.settled('failed');
    await stage.ask('picker.remove()');
    const before = stage.listRequests.length;
    await stage.page.clock.runFor(3_600_000);
    expect(stage.listRequests).toHaveLength(before);
    expect(await stage.page.evaluate("kept.matches(':state(failed)')")).toBe(true);

    await stage.repair();
    await stage.page.evaluate('document.forms[0].append(kept)');
    await stage.settled('loaded');
    await choose('341');
    await stage.box().click();
    await stage.page.evaluate('document.body.append(kept)');
    expect(await stage.page.locator('.popup').isVisible()).toBe(false);
    expect(await stage.ask('[picker.value, picker.form]')).toEqual(['60701190', null]);
  });
});
