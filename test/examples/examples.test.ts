import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { describeInBrowser } from '../kit/browser.ts';
import { createStage } from '../kit/stage.ts';

describeInBrowser('the example in', () => {
  const stage = createStage();
  const scratch = mkdtempSync(join(tmpdir(), 'examples-'));
  beforeAll(() => {
    for (const folder of ['examples', 'packages'])
      cpSync(folder, join(scratch, folder), {
        recursive: true,
        filter: (path) => !/node_modules|dist$/.test(path),
      });
  });
  afterAll(() => rmSync(scratch, { recursive: true, force: true }));

  test.each(['html', 'react', 'vue'])('%s installs, builds and runs', async (name) => {
    const cwd = join(scratch, 'examples', name);
    const run = (...args: string[]) => promisify(execFile)('npm', args, { cwd });
    if (existsSync(join(cwd, 'package-lock.json'))) await run('ci', '--no-audit', '--no-fund');
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
    await stage.page.getByRole('button', { name: 'Recomeçar' }).click();
    await stage.page.waitForFunction("document.querySelector('bank-picker').value === ''");
    expect(await field.inputValue()).toBe('');
    expect(stage.complaints).toEqual([]);
  });
});
