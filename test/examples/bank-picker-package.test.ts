import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterAll, expect, test } from '@jest/globals';
import { minify } from '@swc/core';

// The element's folder is self-contained: it can be copied into a site or published as a package.

const FOLDER = 'examples/bank-picker/element';
const modules = readdirSync(FOLDER).filter((name) => name.endsWith('.js'));
const read = (name: string): string => readFileSync(`${FOLDER}/${name}`, 'utf8');

const scratch = mkdtempSync(join(tmpdir(), 'bank-picker-'));
afterAll(() => rmSync(scratch, { recursive: true }));

test('it has no dependencies', () => {
  const imported = modules.flatMap((name) =>
    [...read(name).matchAll(/^(?:import|export)[^;]*? from '([^']+)'/gm)].map(([, from = '']) => from),
  );
  expect(imported.length).toBeGreaterThan(0);
  expect(imported.filter((from) => !modules.includes(from.replace('./', '')))).toEqual([]);
  const manifest: unknown = JSON.parse(read('package.json'));
  expect(manifest).not.toHaveProperty('dependencies');
  expect(manifest).toMatchObject({ main: 'bank-picker.js', types: 'bank-picker.d.ts' });
});

test('it is about 13 kB, minified and compressed', async () => {
  const minified = await Promise.all(
    modules.map(
      async (name) =>
        (await minify(read(name), { module: true, mangle: { toplevel: true }, compress: { passes: 2 } }))
          .code,
    ),
  );
  const bytes = gzipSync(minified.join('\n'), { level: 9 }).length;
  expect(bytes).toBeLessThan(13_500);
  expect(read('README.md')).toContain('13 kB');
});

test('a server that renders pages can import it', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--input-type=module',
    '--eval',
    `import { BankPickerElement } from './${FOLDER}/bank-picker.js'; console.log(typeof BankPickerElement);`,
  ]);
  expect(stdout).toBe('function\n');
});

test('its types work in a TypeScript page', async () => {
  cpSync(FOLDER, join(scratch, 'bank-picker'), { recursive: true });
  writeFileSync(
    join(scratch, 'page.ts'),
    `import './bank-picker/bank-picker.js';
     import type { Bank, BankPickerFailure, BankPickerStrings } from './bank-picker/bank-picker.js';
     const picker = document.createElement('bank-picker');
     picker.src = 'https://banks.example/banks';
     picker.required = true;
     picker.strings = { label: 'Seu banco', found: (count) => String(count) } satisfies Partial<BankPickerStrings>;
     picker.addEventListener('change', ({ detail }) => { const bank: Bank | null = detail; console.log(bank?.ispb); });
     picker.addEventListener('error', ({ detail }) => { const failure: BankPickerFailure = detail; console.log(failure.code); });
     picker.addEventListener('click', ({ clientX }) => console.log(clientX));
     // @ts-expect-error the bank is read-only
     picker.bank = null;`,
  );
  const flags = [
    '--ignoreConfig',
    '--noEmit',
    '--strict',
    '--target',
    'es2023',
    '--lib',
    'es2023,dom',
    '--module',
    'esnext',
  ];
  const compile = promisify(execFile)('npx', [
    'tsc',
    ...flags,
    '--types',
    '',
    '--moduleResolution',
    'bundler',
    join(scratch, 'page.ts'),
  ]);
  const { stdout } = await compile.catch(({ stdout: said }: { stdout: string }) => ({ stdout: said }));
  expect(stdout).toBe('');
});
