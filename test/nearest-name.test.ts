import { expect, test } from '@jest/globals';
import { nearestName } from '../src/nearest-name.ts';

const PROVIDER = ['code', 'ispb', 'name', 'fullName', 'document', 'website', 'updatedAt'];

test.each([
  ['CODE', 'code'],
  ['codigo', 'code'],
  ['cod', 'code'],
  ['isbp', 'ispb'],
  ['nome', 'name'],
  ['full_name', 'fullName'],
  ['nomeCompleto', 'fullName'],
  ['bankName', 'name'],
  ['site', 'website'],
  ['cnpj', 'document'],
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
