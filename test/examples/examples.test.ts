import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { describeInBrowser, launchBrowser } from '../kit/browser.ts';
import { listenOn } from '../kit/free-port.ts';
import { startRig, type Rig } from '../kit/rig.ts';

const TYPES: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };

/** Where the examples expect the service. */
const BANKS_URL = 'http://localhost:3000/banks';

describeInBrowser('the example in', () => {
  let browser: Browser;
  let rig: Rig;
  let site: Server;
  let origin = '';
  let root = '';
  const scratch = mkdtempSync(join(tmpdir(), 'examples-'));

  beforeAll(async () => {
    cpSync('examples', scratch, { recursive: true, filter: (path) => !/node_modules|dist$/.test(path) });
    site = createServer((req, res) => {
      const path = req.url === '/' ? '/index.html' : (req.url ?? '');
      const file = join(root, path);
      if (!existsSync(file)) return void res.writeHead(404).end();
      res.writeHead(200, { 'content-type': TYPES[extname(path)] ?? 'application/octet-stream' });
      res.end(readFileSync(file, 'utf8').replaceAll(BANKS_URL, `${rig.url}/banks`));
    });
    origin = `http://127.0.0.1:${await listenOn(site)}`;
    rig = await startRig({ env: { CORS_ORIGINS: origin } });
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await rig.close();
    site.closeAllConnections();
    site.close();
    rmSync(scratch, { recursive: true, force: true });
  });

  test.each(['html', 'react', 'vue'])('%s installs, builds and runs', async (name) => {
    const cwd = join(scratch, name);
    const run = (...args: string[]) => promisify(execFile)('npm', args, { cwd });
    if (existsSync(join(cwd, 'package-lock.json'))) await run('ci', '--no-audit', '--no-fund');
    await run('run', 'build');
    root = join(cwd, 'dist');

    const page = await browser.newPage({ locale: 'pt-BR' });
    const complaints: string[] = [];
    page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())));
    page.on('pageerror', (error) => void complaints.push(error.message));
    await page.goto(origin);
    const field = page.getByRole('combobox', { name: 'Seu banco' });
    const output = page.locator('output');
    const next = page.getByRole('button', { name: 'Continuar' });

    await next.click();
    expect(await page.evaluate("document.querySelector('bank-picker').validity.valueMissing")).toBe(true);
    await field.pressSequentially('nubank');
    await page.getByRole('option').first().waitFor();
    expect(await field.inputValue()).toBe('nubank');
    await field.press('Enter');
    await output.filter({ hasText: 'ISPB 18236120' }).waitFor();
    await next.click();
    await output.filter({ hasText: 'bank=18236120' }).waitFor();
    await page.getByRole('button', { name: 'Recomeçar' }).click();
    await page.waitForFunction("document.querySelector('bank-picker').value === ''");
    expect(await field.inputValue()).toBe('');
    expect(complaints).toEqual([]);
    await page.close();
  });
});
