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
