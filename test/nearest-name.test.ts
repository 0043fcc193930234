import { expect, test } from '@jest/globals';
import { nearestName } from '../src/nearest-name.ts';

const PROVIDER = ['code', 'ispb', 'name', 'fullName', 'document', 'website', 'updatedAt'];

test.each([
  ['CODE', 'code'],
  ['Código', 'code'],
  ['codigo', 'code'],
  ['cod', 'code'],
  ['isbp', 'ispb'],
  ['ISPB', 'ispb'],
  ['nome', 'name'],
  ['nombre', 'name'],
  ['full_name', 'fullName'],
  ['full-name', 'fullName'],
  ['nomeCompleto', 'fullName'],
  ['nome_completo', 'fullName'],
  ['bankName', 'name'],
  ['site', 'website'],
  ['cnpj', 'document'],
  ['updated_at', 'updatedAt'],
])('%s probably means %s', (name, nearest) => {
  expect(nearestName(name, PROVIDER)).toBe(nearest);
});

test.each(['phone', 'x', 'agencies', 'swift'])('%s resembles nothing', (name) => {
  expect(nearestName(name, PROVIDER)).toBeUndefined();
});

test('a difference in case is nearer than a translation, and that nearer than a letter', () => {
  expect(nearestName('nome', ['nomes', 'name', 'Nome'])).toBe('Nome');
  expect(nearestName('nome', ['nomes', 'name'])).toBe('name');
  expect(nearestName('nome', ['nomes'])).toBe('nomes');
});
