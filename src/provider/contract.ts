import type { LoadedList } from '../banks/bank-list.ts';
import { LoadError } from '../banks/load-error.ts';
import type { Bank } from '../banks/representation.ts';
import type { PublishedField } from '../config/values.ts';
import type { ProviderAnswer } from './client.ts';

// Unknown bytes in; checked, narrowed banks out, or a LoadError that says why not. Pure: no network, no time.
// All that is assumed of an entry is that it is a JSON object; only published fields get through.

export interface BanksContract {
  /** Undefined: every field passes. */
  readonly fields: readonly PublishedField[] | undefined;
  /** Published names without which an entry is held back. */
  readonly requiredFields: readonly string[];
}

/**
 * Judges an answer of `GET /api/v1/banks`.
 * @param nowMs wall-clock milliseconds, against which a dated `Retry-After` is read
 * @throws {LoadError} when it is neither a list nor a 304
 */
export const processBanksAnswer = (
  answer: ProviderAnswer,
  contract: BanksContract,
  nowMs: number,
): LoadedList | 'not-modified' => {
  if (answer.status === 304) return 'not-modified';
  assertSuccess(answer, nowMs);
  assertJsonType(answer.contentType);
  const entries = parseList(answer.body);
  const objects = entries.filter(isJsonObject);
  const narrowed = objects.map((entry) => narrow(entry, contract.fields));
  const banks = narrowed.filter((bank) => isUsable(bank, contract.requiredFields));
  return {
    banks,
    heldBack: entries.length - banks.length,
    upstreamFields: [...new Set(objects.flatMap((entry) => Object.keys(entry)))],
    validators: answer.validators,
  };
};

const assertSuccess = ({ status, retryAfter }: ProviderAnswer, nowMs: number): void => {
  if (status === 200) return;
  const upstreamStatus = status;
  if (status === 401)
    throw new LoadError('unauthorized', 'the provider does not accept the token (401)', { upstreamStatus });
  const retryAfterMs = parseRetryAfter(retryAfter, nowMs);
  if (status === 429)
    throw new LoadError('rate_limited', 'the provider limits the rate (429)', {
      retryAfterMs,
      upstreamStatus,
    });
  if (status >= 500)
    throw new LoadError('unavailable', `the provider fails (${status})`, { retryAfterMs, upstreamStatus });
  throw new LoadError('unexpected_status', `the provider answers with status ${status} instead of 200`, {
    upstreamStatus,
  });
};

/** `Retry-After` as milliseconds from now: delay-seconds or an HTTP-date (RFC 9110 section 10.2.3); junk is no value. */
export const parseRetryAfter = (value: string | undefined, nowMs: number): number | undefined => {
  if (value === undefined) return undefined;
  if (/^\s*\d+\s*$/.test(value)) return Number(value) * 1_000;
  // Date.parse takes far more than HTTP-dates; each of their three forms starts with a day's name.
  const dateMs = /^\s*(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(value) ? Date.parse(value) : NaN;
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - nowMs);
};

/** A missing type is forgiven, since the parser has the last word; a wrong one is not: it names an error page. */
export const assertJsonType = (contentType: string | undefined): void => {
  const [type = '', ...parameters] = (contentType ?? 'application/json').toLowerCase().split(';');
  const charset = parameters.map((item) => item.trim()).find((item) => item.startsWith('charset='));
  if (!/^(application\/([\w.-]+\+)?json|text\/json)$/.test(type.trim())) {
    throw new LoadError('malformed', 'the answer is labelled as something other than JSON');
  }
  if (charset && !/^charset="?utf-?8"?$/.test(charset)) {
    throw new LoadError('malformed', 'the answer is labelled with a charset other than UTF-8');
  }
};

/** Deeper than any bank could be; JSON.parse would take 100,000 levels, and JSON.stringify would then throw. */
const MAX_DEPTH = 32;

const parseList = (body: Buffer): unknown[] => {
  const value = parseJson(body);
  if (!Array.isArray(value)) throw new LoadError('not_a_list', 'the answer is JSON, but not a list');
  return value;
};

/** The one way in which the provider's bytes become values. @throws {LoadError} `malformed` */
export const parseJson = (body: Buffer): unknown => {
  try {
    // Strict: an invalid sequence is an error, not U+FFFD in a bank's name. One leading BOM is dropped (RFC 8259 section 8.1).
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body);
    assertShallow(body);
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof LoadError) throw error;
    // The parser's message quotes the text, so it goes no further.
    throw new LoadError('malformed', 'the answer is not JSON in UTF-8');
  }
};

/** Counts brackets outside strings in one pass, before the parser builds anything. All that matters here is ASCII. */
const assertShallow = (json: Buffer): void => {
  let depth = 0;
  let inString = false;
  for (let index = 0; index < json.length; index += 1) {
    const byte = json[index];
    if (inString) {
      if (byte === BACKSLASH) index += 1;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) depth += 1;
    else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) depth -= 1;
    if (depth > MAX_DEPTH)
      throw new LoadError('malformed', `the answer is nested deeper than ${MAX_DEPTH} levels`);
  }
};

const [QUOTE, BACKSLASH, OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = Buffer.from('"\\[]{}');

type JsonObject = Readonly<Record<string, unknown>>;

const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The published fields of one entry, in their configured order; a field that the entry lacks is null. */
const narrow = (entry: JsonObject, fields: readonly PublishedField[] | undefined): Bank =>
  Object.fromEntries(
    fields
      ? fields.map(({ name, from }) => [name, Object.hasOwn(entry, from) ? entry[from] : null])
      : // Assigned anywhere in a browser, this key would change an object's prototype.
        Object.entries(entry).filter(([name]) => name !== '__proto__'),
  );

/**
 * Whether a narrowed entry may be published: it has its required fields, something to show, and no number beyond
 * the integers that a double holds exactly (2^53 - 1), since such a one may be another number already.
 */
const isUsable = (bank: Bank, requiredFields: readonly string[]): boolean =>
  requiredFields.every((name) => isPresent(bank[name])) &&
  Object.values(bank).some(isPresent) &&
  !Object.values(bank).some(isInexact);

const isPresent = (value: unknown): boolean => value !== undefined && value !== null && value !== '';

const isInexact = (value: unknown): boolean => {
  if (typeof value === 'object' && value !== null) return Object.values(value).some(isInexact);
  return typeof value === 'number' && (!Number.isFinite(value) || Math.abs(value) > Number.MAX_SAFE_INTEGER);
};
