import { expect, test } from '@jest/globals';
import { signOfPages } from '../../src/doctor/survey.ts';

const banks = (count: number): unknown[] => Array.from({ length: count }, (_, index) => ({ code: index }));

test.each([
  '</api/v1/banks?page=2>; rel="next"',
  '<https://example.com/?a=1>; rel=next',
  '</1>; rel="prev", </3>; rel="next"',
  '</2>; title="x"; REL="last next"',
])('Link: %s is a sign of pages', (link) => {
  expect(signOfPages(link, banks(7))).toContain('Link');
});

test.each(['</docs>; rel="help"', '</next>; rel="prev"', '</x>; rel="nextsomething"', ''])(
  'Link: %s is not',
  (link) => {
    expect(signOfPages(link, banks(7))).toBeUndefined();
  },
);

test('a list with the size of a page is a sign, one of another size is not', () => {
  expect(signOfPages(undefined, banks(100))).toContain('exactly 100 entries');
  expect(signOfPages(undefined, banks(513))).toBeUndefined();
  expect(signOfPages(undefined, [])).toBeUndefined();
});

test('names the members next to the list that are about pages', () => {
  expect(signOfPages(undefined, { data: banks(50), total_pages: 11, hasMore: true })).toBe(
    'the answer has members of pages: total_pages, hasMore',
  );
  expect(signOfPages(undefined, { data: banks(50) })).toBeUndefined();
});
