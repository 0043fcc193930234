import { expect, test } from '@jest/globals';
import { createNegotiate } from '../../../src/http/banks/encodings.ts';
import { ENCODING_CASES } from './cases.ts';

const negotiate = createNegotiate();

test.each(ENCODING_CASES)(
  '%s: "%s" gives %s, and again when it is remembered',
  (_section, acceptEncoding, expected) => {
    expect([negotiate(acceptEncoding), negotiate(acceptEncoding)]).toEqual([expected, expected]);
  },
);

test('12.5.3 without the header it is identity', () => {
  expect(negotiate(undefined)).toBe('identity');
});
