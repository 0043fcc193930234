import { expect, test } from '@jest/globals';
import { suggestFields } from '../../src/banks/field-suggestion.ts';

const suggest = (...paths: string[]): string =>
  suggestFields(
    paths.map((text) => ({ path: text.replace('?', ''), share: text.endsWith('?') ? 0.1 : 0.97 })),
  ).join();

test('a field inside an object has its last name, or as much of its path as tells it from others', () => {
  expect(suggest('code', 'ids.ispb', 'logo?', 'ids.tax.cnpj?')).toBe(
    'code,ispb:ids.ispb,logo?,cnpj:ids.tax.cnpj?',
  );
  expect(suggest('code', 'a.code', 'b.code', 'c.d.name', 'e.d.name')).toBe(
    'code,a_code:a.code,b_code:b.code,c_d_name:c.d.name,e_d_name:e.d.name',
  );
});

test('names that cannot stand in BANK_FIELDS are left out', () => {
  expect(suggest('code', 'na me', 'a:b', 'x,y', '\u001b[31m')).toBe('code');
});
