import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { beforeAll, expect, test } from '@jest/globals';
import { describeInBrowser } from '../helpers/browser.ts';
import { createStage } from '../helpers/browser-stage.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

describeInBrowser('the example in', () => {
  const stage = createStage();
  const scratch = temporaryFolder('examples-');
  beforeAll(() => {
    for (const folder of ['examples', 'packages'])
      cpSync(folder, join(scratch, folder), {
        recursive: true,
        filter: (path) => !/node_modules|dist$/.test(path),
      });
  });

  test.each(['react', 'vue'])('%s installs, builds and runs', async (name) => {
    const cwd = join(scratch, 'examples', name);
    const run = (...args: string[]) => promisify(execFile)('npm', args, { cwd });
    await run('ci', '--no-audit', '--no-fund');
    await run('run', 'build');

    await stage.openSite(join(cwd, 'dist'));
    const field = stage.page.getByRole('combobox', { name: 'Seu banco' });
    const output = stage.page.locator('output');
    const next = stage.page.getByRole('button', { name: 'Continuar' });
    await next.click();
    expect(await stage.ask('picker.validity.valueMissing')).toBe(true);
    await field.pressSequentially('nubank');
    await stage.options().first().waitFor();
    expect(await field.inputValue()).toBe('nubank');
    await field.press('Enter');
    await output.filter({ hasText: 'ISPB 18236120' }).waitFor();
    await next.click();
    await output.filter({ hasText: 'bank=18236120' }).waitFor();
    expect(await stage.violations()).toEqual([]);
    await stage.page.getByRole('button', { name: 'Recomeçar' }).click();
    await stage.page.waitForFunction("document.querySelector('bank-picker').value === ''");
    expect([await field.inputValue(), await output.textContent()]).toEqual(['', '']);
    expect(stage.complaints).toEqual([]);
  });

  test('React compiles and hears the events that its README names, and no others', async () => {
    const cwd = join(scratch, 'examples/react');
    const page = `import 'banks-bff-picker/react';
      import type { JSX } from 'react';
      import { createRoot } from 'react-dom/client';
      const heard: string[] = [];
      const hear = (...what: string[]) => { heard.push(what.join()); document.title = heard.sort().join(' '); };
      createRoot(document.body).render(<>
        <bank-picker src="http://localhost:3000/banks" value="99999999"
          onload={({ detail }) => hear('load', detail.toFixed())} onmissing={({ detail }) => hear('missing', detail.trim())} />
        <bank-picker src="/nothing" onerror={({ detail }) => hear('error', detail.code)} />
      </>);
      // @ts-expect-error React would not hear it
      export const load: JSX.IntrinsicElements['bank-picker'] = { onLoad: () => {} };
      // @ts-expect-error React would not hear it
      export const error: JSX.IntrinsicElements['bank-picker'] = { onError: () => {} };`;
    writeFileSync(join(cwd, 'src/main.tsx'), page);
    const run = (...args: string[]) => promisify(execFile)('npm', args, { cwd });
    await run('ci', '--no-audit', '--no-fund');
    await run('run', 'build');
    await stage.openSite(join(cwd, 'dist'));
    await stage.page.waitForFunction("document.title.split(' ').length === 3");
    expect(await stage.page.title()).toBe('error,not_a_list load,513 missing,99999999');
  });

  test('the bank picker adds as much to a page that Vite builds as its README says', async () => {
    const cwd = join(scratch, 'examples/vue');
    await promisify(execFile)('npm', ['ci', '--no-audit', '--no-fund'], { cwd });
    const page = '<script type="module">import "banks-bff-picker";</script>';
    mkdirSync(join(cwd, 'page'));
    writeFileSync(join(cwd, 'page/index.html'), page);
    // The polyfill is Vite's, which adds it to every page.
    const program = `import { build } from 'vite';
      const { output } = await build({
        root: 'page',
        configFile: false,
        logLevel: 'error',
        build: { write: false, modulePreload: { polyfill: false } },
      });
      process.stdout.write(output.map(({ code = '' }) => code).join(''));`;
    const args = ['--input-type=module', '--eval', program];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd });
    const kilobytes = gzipSync(stdout, { level: 9 }).length / 1_000;
    const readme = readFileSync('packages/bank-picker/README.md', 'utf8');
    expect(readme).toContain(`${Math.ceil(kilobytes)} kB minified and compressed`);
  });
});
