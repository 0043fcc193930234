import { execFile, spawnSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts';

// The element's folder is self-contained: it can be copied into a site or published as a package.

const FOLDER = 'packages/bank-picker';
const modules = readdirSync(FOLDER).filter((name) => name.endsWith('.js'));
const read = (name: string): string => readFileSync(`${FOLDER}/${name}`, 'utf8');

const run = promisify(execFile);

const scratch = temporaryFolder('bank-picker-');

test('it is packed with all that it imports, its types and its licence, and has no dependencies', async () => {
  const { stdout } = await run('npm', ['pack', '--dry-run', '--json'], { cwd: FOLDER });
  const packed = [...stdout.matchAll(/"path": "([^"]+)"/g)].map(([, path = '']) => path);
  expect(packed.toSorted()).toEqual(
    [
      'LICENSE',
      'README.md',
      'bank-picker.d.ts',
      'package.json',
      'react.d.ts',
      ...modules,
    ].toSorted(),
  );
  const imported = modules.flatMap((name) =>
    [...read(name).matchAll(/^(?:import|export)[^;]*? from '([^']+)'/gm)].map(
      ([, from = '']) => from,
    ),
  );
  expect(imported.length).toBeGreaterThan(0);
  expect(imported.filter((from) => !packed.includes(from.replace('./', '')))).toEqual([]);
  expect(Object.keys(JSON.parse(read('package.json')))).not.toContain('dependencies');
});

test('a server that renders pages can import it', async () => {
  const { stdout } = await run(process.execPath, [
    '--input-type=module',
    '--eval',
    `import { BankPickerElement } from './${FOLDER}/bank-picker.js'; console.log(typeof BankPickerElement);`,
  ]);
  expect(stdout).toBe('function\n');
});

test('its types work in a TypeScript page', () => {
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
     ({ code: null, ispb: null, name: null }) satisfies Bank;
     // @ts-expect-error the bank is read-only
     picker.bank = null;`,
  );
  const flags =
    '--ignoreConfig --noEmit --strict --target es2023 --lib es2023,dom --module esnext --types';
  const args = [...flags.split(' '), '', '--moduleResolution', 'bundler', join(scratch, 'page.ts')];
  const compiled = spawnSync('npx', ['tsc', ...args], { encoding: 'utf8' });
  expect(compiled).toMatchObject({ status: 0, stdout: '' });
});
