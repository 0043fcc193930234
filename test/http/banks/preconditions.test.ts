import { expect, test } from '@jest/globals';
import { evaluatePreconditions } from '../../../src/http/banks/preconditions.ts';
import { CONDITION_CASES, fill } from './cases.ts';

const ETAGS = new Map([
  ['identity', '"i"'],
  ['gzip', '"g"'],
  ['br', '"b"'],
]);
/** Lists change at any moment; HTTP-dates have whole seconds. */
const LAST_MODIFIED_MS = Date.UTC(2026, 0, 1) + 999;

const STATUS = { proceed: 200, not_modified: 304, precondition_failed: 412 };
const statusOf = (fields: Readonly<Record<string, string>>): number => {
  const filled = Object.entries(fields).map(([name, value]) => [
    name.toLowerCase(),
    fill(value, ETAGS, LAST_MODIFIED_MS),
  ]);
  const encoding = fields['Accept-Encoding'] ?? 'identity';
  const validators = { etag: ETAGS.get(encoding) ?? '', lastModifiedMs: LAST_MODIFIED_MS };
  return STATUS[evaluatePreconditions(Object.fromEntries(filled), validators)];
};

test.each(CONDITION_CASES)('%s: %j gives %i', (_section, fields, status) => {
  expect(statusOf(fields)).toBe(status);
});

// What a client of HTTP would not let through, or what only differs in one character.
test.each([
  ['"a"\t,\t"i"', 304],
  ['\t "i"', 304],
  ['"i" \t', 304],
  ['"!","#","~","\u0080","\u00ff","i"', 304],
  ['"a b", "i"', 200],
  ['"a\u007f", "i"', 200],
  ['"a\u0100", "i"', 200],
  ['W/ "i"', 200],
  ['"a"x, "i"', 200],
  ['"i" x', 200],
  ['"i", x', 200],
  ['"i"x', 200],
  ['x"i"', 200],
  ['"i', 200],
  ['""i""', 200],
  ['*, "i"', 200],
])('If-None-Match: %j gives %i', (value, status) => {
  expect(statusOf({ 'If-None-Match': value })).toBe(status);
});

test.each([
  ['W/"i", "i"', 200],
  ['"i", W/"i"', 200],
  ['W/"i", W/"a"', 412],
  ['"i", x', 412],
])('If-Match: %j gives %i', (value, status) => {
  expect(statusOf({ 'If-Match': value })).toBe(status);
});
