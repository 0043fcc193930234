import { afterEach, beforeEach, expect, test } from '@jest/globals';
import supertest from 'supertest';
import { startBankPicker, type BankPicker } from '../../examples/bank-picker/server.ts';

let picker: BankPicker;
beforeEach(async () => {
  picker = await startBankPicker({ banksUrl: 'https://banks.example/v1/banks?a=1&b="<2>"' });
});
afterEach(() => picker.close());

test('the page knows the address of the list, and may connect to no other', async () => {
  const { text, headers } = await supertest(picker.url).get('/?lang=en').expect(200);
  expect(text).toContain('src="https://banks.example/v1/banks?a=1&amp;b=%22%3C2%3E%22"');
  expect(headers['content-type']).toBe('text/html; charset=utf-8');
  const policy = String(headers['content-security-policy']).split('; ');
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain('connect-src https://banks.example');
  expect(headers['content-security-policy']).not.toMatch(/unsafe|\*/);
});

test('only the page and the element are served', async () => {
  const { text } = await supertest(picker.url).get('/').expect(200);
  const named = [...text.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path = '']) => path);
  expect(named).toEqual(['/page/page.css', '/page/page.js']);
  const statusOf = async (path: string) => (await supertest(picker.url).get(path)).status;
  const imported = [
    'bank-picker',
    'load',
    'marks',
    'matching',
    'ranking',
    'spelling',
    'words',
    'picker',
    'list',
    'parts',
    'search',
    'brands',
    'notices',
    'strings',
    'style',
  ];
  const paths = [...named, ...imported.map((name) => `/element/${name}.js`)];
  expect(await Promise.all(paths.map(statusOf))).toEqual(paths.map(() => 200));
  const others = [
    '/server.ts',
    '/tsconfig.json',
    '/element/package.json',
    '/element/README.md',
    '/element/..%2fserver.ts',
    '/%2e%2e/server.ts',
    '/__proto__',
  ];
  expect(await Promise.all(others.map(statusOf))).toEqual(others.map(() => 404));
  await supertest(picker.url).post('/').expect(405).expect('Allow', 'GET, HEAD');
});
