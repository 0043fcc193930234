import { LRUCache } from 'lru-cache';
import Negotiator from 'negotiator';
import { CODINGS, type Coding } from '../../banks/representation.ts';

// Which content coding a client gets: RFC 9110 section 12.5.3, remembered by the field's text.

export type Negotiate = (acceptEncoding: string | undefined) => Coding;

/**
 * The coding with the highest weight, the smallest one among equals. Where nothing fits, also for `identity;q=0`,
 * the field is disregarded as section 12.4.1 allows, and the answer is identity: a list that a client may be able
 * to read is worth more than a 406 that it cannot use. A request without the field gets identity too: it would
 * accept anything, but the clients that send none are those that decode nothing.
 */
export const createNegotiate = (): Negotiate => {
  const known = new LRUCache<string, Coding>({ max: REMEMBERED });
  return (acceptEncoding) => {
    if (!acceptEncoding) return 'identity';
    const remembered = known.get(acceptEncoding);
    if (remembered) return remembered;
    const coding = negotiate(acceptEncoding);
    if (acceptEncoding.length <= REMEMBERED_LENGTH) known.set(acceptEncoding, coding);
    return coding;
  };
};

/** Browsers and tools send some dozen different fields, none longer than 60 characters; a client can invent others. */
const REMEMBERED = 200;
const REMEMBERED_LENGTH = 200;

const negotiate = (acceptEncoding: string): Coding => {
  // The alias of RFC 9110 section 8.4.1.3.
  const accepted = acceptEncoding.replaceAll(/\bx-gzip\b/gi, 'gzip');
  const negotiator = new Negotiator({ headers: { 'accept-encoding': accepted } });
  return negotiator.encoding(CODINGS, { preferred: CODINGS }) ?? 'identity';
};
