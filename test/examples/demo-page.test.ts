import { afterEach, beforeEach, expect, test } from '@jest/globals';
import supertest from 'supertest';
import { startDemoPage, type DemoPage } from '../../examples/demo-page/server.ts';

let picker: DemoPage;
beforeEach(async () => {
  picker = await startDemoPage({ banksUrl: 'https://banks.example/v1/banks?a=1&b="<2>"' });
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
  await supertest(picker.url).get('/bank-picker/bank-picker.js').expect(200);
  const others = [
    '/server.ts',
    '/bank-picker/package.json',
    '/bank-picker/..%2fserver.ts',
    '/%2e%2e/server.ts',
  ];
  for (const path of [...others, '/__proto__']) await supertest(picker.url).get(path).expect(404);
});
