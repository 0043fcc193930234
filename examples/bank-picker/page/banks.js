// Asks the service for the list and judges the answer. It sends no credential of any kind, and leaves caching to the
// browser: within the answer's max-age a new visit costs nothing, after it a conditional request and a 304.

/**
 * @typedef {import('./search.js').Bank} Bank
 * @typedef {object} Loaded
 * @property {'loaded'} state
 * @property {readonly Bank[]} banks
 * @property {number | undefined} overdueSeconds how long ago the list should have been renewed; undefined: it is fresh
 * @typedef {object} Failed
 * @property {'failed'} state
 * @property {string} code the service's problem code, or `no_answer` or `not_a_list`, which only this page can tell
 * @property {string | undefined} requestId what operators can find the request by
 * @property {number | undefined} retryAfterSeconds when the service says that asking again can help
 */

/** The service answers within its PROVIDER_TIMEOUT, 5 s unless configured; beyond this something else is wrong. */
const LONGEST_WAIT_MS = 20_000;

/**
 * Never rejects: a failure is an answer, too.
 * @param {string} url
 * @returns {Promise<Loaded | Failed>}
 */
export const fetchBanks = async (url) => {
  try {
    const response = await fetch(url, { credentials: 'omit', signal: AbortSignal.timeout(LONGEST_WAIT_MS) });
    return response.ok ? judgeList(response) : await judgeProblem(response);
  } catch {
    // Offline, refused, timed out, or an origin that the service does not allow: a page cannot tell which.
    return { state: 'failed', code: 'no_answer', requestId: undefined, retryAfterSeconds: undefined };
  }
};

/**
 * @param {Response} response
 * @returns {Promise<Loaded | Failed>}
 */
const judgeList = async (response) => {
  const list = await jsonOf(response);
  const banks = Array.isArray(list) ? list.map(toBank).filter((bank) => bank !== undefined) : [];
  if (banks.length === 0) return toFailed(response, 'not_a_list');
  return { state: 'loaded', banks, overdueSeconds: overdueSeconds(response.headers.get('Cache-Status')) };
};

/**
 * @param {Response} response
 * @returns {Promise<Failed>}
 */
const judgeProblem = async (response) => {
  const problem = await jsonOf(response);
  const code =
    isRecord(problem) && typeof problem['code'] === 'string' ? problem['code'] : `http_${response.status}`;
  return toFailed(response, code);
};

/**
 * @param {Response} response
 * @param {string} code
 * @returns {Failed}
 */
const toFailed = (response, code) => ({
  state: 'failed',
  code,
  requestId: response.headers.get('X-Request-Id') ?? undefined,
  retryAfterSeconds: secondsOf(response.headers.get('Retry-After')),
});

/**
 * The time since a stale list's TTL, from the service's member of `Cache-Status` (RFC 9211 section 2.4), such as
 * `banks-bff; hit; ttl=-120; detail=unavailable`. A cache on the way may have added members of its own.
 * @param {string | null} cacheStatus
 */
const overdueSeconds = (cacheStatus) => {
  const ttl = Number(/(?:^|,)\s*banks-bff\b[^,]*;\s*ttl=(-?\d+)/.exec(cacheStatus ?? '')?.[1] ?? 0);
  return ttl < 0 ? -ttl : undefined;
};

/** The service sends delay-seconds; a proxy in front of it may send a date (RFC 9110 section 10.2.3). */
const secondsOf = (/** @type {string | null} */ retryAfter) => {
  if (retryAfter === null) return undefined;
  const seconds = /^\d+$/.test(retryAfter)
    ? Number(retryAfter)
    : (Date.parse(retryAfter) - Date.now()) / 1_000;
  return Number.isFinite(seconds) ? Math.max(1, Math.ceil(seconds)) : undefined;
};

/** @returns {Promise<unknown>} */
const jsonOf = (/** @type {Response} */ response) => response.json().catch(() => undefined);

/**
 * A bank that can be shown, whatever fields the service was configured to publish.
 * @param {unknown} entry
 * @returns {Bank | undefined}
 */
const toBank = (entry) => {
  if (!isRecord(entry)) return undefined;
  const bank = { code: textOf(entry['code']), ispb: textOf(entry['ispb']), name: textOf(entry['name']) };
  return bank.name === '' ? undefined : bank;
};

const textOf = (/** @type {unknown} */ value) =>
  typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';

/**
 * @param {unknown} value
 * @returns {value is Record<string, unknown>}
 */
const isRecord = (value) => typeof value === 'object' && value !== null;
