import { expect, test } from '@jest/globals';
import supertest from 'supertest';
import { startDemoPage } from '../../examples/demo-page/server.ts';
import { closeLater } from '../helpers/close-later.ts';

test('the page knows the address of the list, may connect to no other, and no other file is served', async () => {
  const { url, close } = await startDemoPage(() => 'https://banks.example/v1/banks?a=1&b="<2>"');
  closeLater(close);
  const { text, headers } = await supertest(url).get('/?lang=en').expect(200);
  expect(text).toContain('src="https://banks.example/v1/banks?a=1&amp;b=%22%3C2%3E%22"');
  expect(headers['content-type']).toBe('text/html; charset=utf-8');
  const policy = String(headers['content-security-policy']).split('; ');
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain('connect-src https://banks.example');
  expect(headers['content-security-policy']).not.toMatch(/unsafe|\*/);

  await supertest(url).get('/bank-picker/bank-picker.js').expect(200);
  for (const path of ['/server.ts', '/bank-picker/package.json', '/%2e%2e/server.ts'])
    await supertest(url).get(path).expect(404);
});
