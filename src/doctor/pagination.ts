import { isJsonObject } from '../banks/reading/entry.ts';

// Whether an answer is probably the first page of a longer list: this service makes one request and reads one answer. Pure.

/** What suggests it, in words; undefined where nothing does. */
export const signOfPages = (link: string | undefined, value: unknown): string | undefined => {
  // RFC 8288 section 3; the relation may be one of several.
  if (/;\s*rel\s*=\s*("[^"]*\bnext\b|next\b)/i.test(link ?? ''))
    return 'the answer has a Link header to a next page';
  if (isJsonObject(value)) {
    const members = Object.keys(value).filter((name) =>
      PAGING_MEMBERS.has(name.toLowerCase().replaceAll(/[_-]/g, '')),
    );
    return members.length > 0 ? `the answer has members of pages: ${members.join(', ')}` : undefined;
  }
  if (Array.isArray(value) && PAGE_SIZES.has(value.length))
    return `the list has exactly ${value.length} entries, a usual size of a page`;
  return undefined;
};

const PAGING_MEMBERS = new Set([
  'page',
  'pages',
  'pagesize',
  'perpage',
  'limit',
  'offset',
  'cursor',
  'next',
  'nextpage',
  'nextcursor',
  'hasmore',
  'hasnext',
  'total',
  'totalcount',
  'totalpages',
  'totalelements',
  'pagination',
  'paging',
  'links',
]);

const PAGE_SIZES = new Set([10, 20, 25, 30, 50, 100, 200, 250, 500, 1_000]);
