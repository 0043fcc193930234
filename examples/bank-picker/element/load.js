// Requests the list from the service, checks the response, and retries when the service says so. It sends no credentials and
// leaves caching to the browser: within max-age a new visit needs no request.

/**
 * @typedef {import('./search.js').Bank} Bank
 * @typedef {{ readonly code: string, readonly name: string, readonly id: string }} FieldNames
 * @typedef {{ readonly kind: 'loading' }} Loading
 * @typedef {object} Loaded
 * @property {'loaded'} kind
 * @property {readonly Bank[]} banks
 * @property {number} overdueSeconds how long ago the list should have been renewed; 0: it is fresh
 * @typedef {object} Failed
 * @property {'failed'} kind
 * @property {string} code the service's problem code, or one of those that the README lists
 * @property {string} requestId what operators can find the request by; '' where there was no answer
 * @property {number | undefined} retryAfterSeconds when the service says that asking again can help
 * @typedef {Loading | Loaded | Failed} Status
 */

/** The service answers within its PROVIDER_TIMEOUT, by default 5 s; after this time something else is wrong. */
const LONGEST_WAIT_MS = 20_000;

/** The longest delay that a timer takes; beyond it, 24.8 days, browsers would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Keeps a list loaded. `onStatus` gets each change; `onCountdown` the whole seconds that are left until the next
 * attempt, once a second.
 * @param {{ onStatus: (status: Status) => void, onCountdown: (seconds: number) => void }} listener
 */
export const createLoader = ({ onStatus, onCountdown }) => {
  /** Ends what is under way: the request, its timeout and the countdown. */
  let stop = () => {};

  const load = async (/** @type {string} */ url, /** @type {FieldNames} */ fields) => {
    stop();
    const controller = new AbortController();
    const { signal } = controller;
    const timeout = setTimeout(() => controller.abort(), LONGEST_WAIT_MS);
    let isStopped = false;
    stop = () => {
      isStopped = true;
      clearTimeout(timeout);
      controller.abort();
    };
    onStatus({ kind: 'loading' });
    const status = await fetchBanks(url, fields, signal);
    clearTimeout(timeout);
    if (isStopped) return;
    onStatus(status);
    if (status.kind === 'failed' && status.retryAfterSeconds !== undefined) {
      stop = countDown(status.retryAfterSeconds, onCountdown, () => void load(url, fields));
    }
  };

  return {
    load: (/** @type {string} */ url, /** @type {FieldNames} */ fields) => void load(url, fields),
    stop: () => stop(),
  };
};

/**
 * Counts by the clock, since browsers slow the timers of hidden pages down. Returns what ends it.
 * @param {number} seconds
 * @param {(left: number) => void} onTick
 * @param {() => void} onEnd
 */
const countDown = (seconds, onTick, onEnd) => {
  const endsAtMs = performance.now() + Math.min(seconds * 1_000, LONGEST_TIMER_MS);
  onTick(seconds);
  const timer = setInterval(() => {
    const left = Math.ceil((endsAtMs - performance.now()) / 1_000);
    if (left > 0) return onTick(left);
    clearInterval(timer);
    onEnd();
  }, 1_000);
  return () => clearInterval(timer);
};

/**
 * Never rejects: a failure is an answer, too.
 * @param {string} url
 * @param {FieldNames} fields
 * @param {AbortSignal} signal
 * @returns {Promise<Loaded | Failed>}
 */
const fetchBanks = async (url, fields, signal) => {
  try {
    const response = await fetch(url, { credentials: 'omit', signal });
    const body = await response.json().catch(() => undefined);
    signal.throwIfAborted();
    return response.ok ? judgeList(response, body, fields) : judgeProblem(response, body);
  } catch {
    // Offline, refused, timed out, or an origin that the service does not allow: a page cannot tell which.
    return { kind: 'failed', code: 'no_answer', requestId: '', retryAfterSeconds: undefined };
  }
};

/**
 * @param {Response} response
 * @param {unknown} list
 * @param {FieldNames} fields
 * @returns {Loaded | Failed}
 */
const judgeList = (response, list, fields) => {
  if (!Array.isArray(list)) return toFailed(response, 'not_a_list');
  const banks = list.filter(isRecord).map((entry) => toBank(entry, fields));
  const usable = banks.filter(({ id, name }) => id !== '' && name !== '');
  if (usable.length === 0) return toFailed(response, 'no_usable_bank');
  return {
    kind: 'loaded',
    banks: usable,
    overdueSeconds: overdueSeconds(response.headers.get('Cache-Status')),
  };
};

/**
 * @param {Response} response
 * @param {unknown} problem
 * @returns {Failed}
 */
const judgeProblem = (response, problem) => {
  const code = isRecord(problem) ? textOf(problem['code']) : '';
  return toFailed(response, code || `http_${response.status}`);
};

/**
 * @param {Response} response
 * @param {string} code
 * @returns {Failed}
 */
const toFailed = ({ headers }, code) => ({
  kind: 'failed',
  code,
  requestId: headers.get('X-Request-Id') ?? '',
  retryAfterSeconds: secondsOf(headers.get('Retry-After')),
});

/**
 * The time since a stale list's TTL, from the service's member of `Cache-Status` (RFC 9211 section 2.4), such as
 * `banks-bff; hit; ttl=-120; detail=unavailable`. A cache on the way may have added members of its own.
 * @param {string | null} cacheStatus
 */
const overdueSeconds = (cacheStatus) => {
  const ttl = Number(/(?:^|,)\s*banks-bff\b[^,]*;\s*ttl=(-?\d+)/.exec(cacheStatus ?? '')?.[1] ?? 0);
  return Math.max(0, -ttl);
};

/** The service sends delay-seconds; a proxy in front of it may send a date (RFC 9110 section 10.2.3). */
const secondsOf = (/** @type {string | null} */ retryAfter) => {
  if (retryAfter === null) return undefined;
  const seconds = /^\d+$/.test(retryAfter)
    ? Number(retryAfter)
    : (Date.parse(retryAfter) - Date.now()) / 1_000;
  return Number.isFinite(seconds) ? Math.max(1, Math.ceil(seconds)) : undefined;
};

/**
 * @param {Record<string, unknown>} entry
 * @param {FieldNames} fields
 * @returns {Bank}
 */
const toBank = (entry, fields) => {
  const code = textOf(entry[fields.code]);
  return { id: textOf(entry[fields.id]) || code, code, name: textOf(entry[fields.name]), entry };
};

const textOf = (/** @type {unknown} */ value) =>
  typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';

/**
 * @param {unknown} value
 * @returns {value is Record<string, unknown>}
 */
const isRecord = (value) => typeof value === 'object' && value !== null;
