import { expect, test } from '@jest/globals';
import { suggestFields } from '../../src/banks/reading/provider-fields.ts';

const suggest = (...paths: string[]): string =>
  suggestFields(
    paths.map((text) => ({ path: text.replace('?', ''), share: text.endsWith('?') ? 0.1 : 0.97 })),
  ).join();

test('a field inside an object has its last name, or its whole path where another ends with that name', () => {
  expect(suggest('code', 'ids.ispb', 'logo?', 'ids.tax.cnpj?')).toBe(
    'code,ispb:ids.ispb,logo?,cnpj:ids.tax.cnpj?',
  );
  expect(suggest('code', 'a.code', 'b.code', 'c.d.name', 'e.d.name')).toBe(
    'code,a.code,b.code,c.d.name,e.d.name',
  );
});

test('names that cannot stand in BANK_FIELDS are left out', () => {
  expect(suggest('code', 'na me', 'a:b', 'x,y', '\u001b[31m', 'a.__proto__')).toBe('code');
});
