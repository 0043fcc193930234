import { LRUCache } from 'lru-cache';
import Negotiator from 'negotiator';
import { ENCODINGS, type Encoding } from '../../banks/representation.ts';

// Which content encoding a client gets: RFC 9110 section 12.5.3, remembered by the header's text.

export type Negotiate = (acceptEncoding: string | undefined) => Encoding;

/**
 * The encoding with the highest weight, the one with the smallest body among equals. Where nothing fits, and for
 * `identity;q=0`, the header is ignored as section 12.4.1 allows, and the answer is identity: a list that the client may be
 * able to read is worth more than a 406. A request without the header gets identity too: it would accept anything, but
 * clients that do not send it do not decode either.
 */
export const createNegotiate = (): Negotiate => {
  const known = new LRUCache<string, Encoding>({ max: MAX_REMEMBERED });
  return (acceptEncoding) => {
    if (!acceptEncoding) return 'identity';
    const remembered = known.get(acceptEncoding);
    if (remembered) return remembered;
    const encoding = negotiate(acceptEncoding);
    if (acceptEncoding.length <= MAX_REMEMBERED_LENGTH) known.set(acceptEncoding, encoding);
    return encoding;
  };
};

/** Browsers and tools send about a dozen different values, none longer than 60 characters; a client can invent others. */
const MAX_REMEMBERED = 200;
const MAX_REMEMBERED_LENGTH = 200;

const negotiate = (acceptEncoding: string): Encoding => {
  // The alias of RFC 9110 section 8.4.1.3.
  const accepted = acceptEncoding.replaceAll(/\bx-gzip\b/gi, 'gzip');
  const negotiator = new Negotiator({ headers: { 'accept-encoding': accepted } });
  return negotiator.encoding(ENCODINGS, { preferred: ENCODINGS }) ?? 'identity';
};
