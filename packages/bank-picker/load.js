// Requests the list from the service, checks the response, and tries again until it has one. It sends no credentials and
// leaves caching to the browser: within max-age a new visit needs no request.

/**
 * @typedef {import('./search.js').Bank} Bank
 * @typedef {{ readonly code: string, readonly name: string, readonly id: string, readonly logo: string }} FieldNames `logo` may be ''
 * @typedef {{ readonly kind: 'loading' }} Loading
 * @typedef {object} Loaded
 * @property {'loaded'} kind
 * @property {readonly Bank[]} banks
 * @property {number} overdueSeconds how long ago the list should have been renewed; 0: it is fresh
 * @typedef {object} Failed
 * @property {'failed'} kind
 * @property {string} code the service's problem code, or one of those that the README lists
 * @property {string} requestId what operators can find the request by; '' where there was no answer
 * @property {number | undefined} retryAfterSeconds when the service asks to be asked again
 * @typedef {{ readonly kind: 'idle' }} Idle there is nothing to load
 * @typedef {Idle | Loading | Loaded | Failed} Status
 * @typedef {object} Answer
 * @property {Response} response
 * @property {unknown} body undefined where it is no JSON
 */

/** The service answers within its PROVIDER_TIMEOUT, by default 5 s; after this time something else is wrong. */
const LONGEST_WAIT_MS = 20_000;

/** Between attempts: twice as long after each, up to this, and at random the upper half of it, so that pages spread. */
const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 30_000;

/** An event that promises a connection is followed at once, but a flapping one must not hammer the service. */
const SHORTEST_DELAY_MS = 1_000;

/**
 * Keeps asking for a list until it is loaded, whatever is in the way. `onStatus` gets each change; `onCountdown` the
 * whole seconds that are left until the next attempt, once a second.
 * @param {{ onStatus: (status: Status) => void, onCountdown: (seconds: number) => void }} listener
 */
export const createLoader = ({ onStatus, onCountdown }) => {
  let stop = () => {};
  let hurry = () => {};

  /**
   * Counts by the clock, since browsers slow the timers of hidden pages down.
   * @param {number} delay
   * @param {AbortSignal} signal with which the promise stays pending
   * @returns {Promise<void>}
   */
  const wait = (delay, signal) =>
    new Promise((resolve) => {
      const startedAtMs = performance.now();
      let endsAtMs = startedAtMs + delay;
      /** @type {ReturnType<typeof setTimeout> | undefined} */
      let timer;
      const tick = () => {
        clearTimeout(timer);
        if (signal.aborted) return;
        const leftMs = endsAtMs - performance.now();
        if (leftMs <= 0) return resolve();
        onCountdown(Math.ceil(leftMs / 1_000));
        timer = setTimeout(tick, leftMs % 1_000 || 1_000);
      };
      hurry = () => {
        endsAtMs = Math.min(endsAtMs, startedAtMs + SHORTEST_DELAY_MS);
        tick();
      };
      tick();
    });

  return {
    load: async (/** @type {string} */ url, /** @type {FieldNames} */ fields) => {
      stop();
      const ended = new AbortController();
      const { signal } = ended;
      stop = () => ended.abort();
      window.addEventListener('online', () => hurry(), { signal });
      const onVisible = () => document.visibilityState === 'visible' && hurry();
      document.addEventListener('visibilitychange', onVisible, { signal });
      for (let failures = 0; ; failures += 1) {
        onStatus({ kind: 'loading' });
        const answer = await ask(url, signal);
        if (signal.aborted) return;
        const status = answer ? toStatus(answer, fields) : NO_ANSWER;
        onStatus(status);
        // A listener may have asked for another list.
        if (signal.aborted) return;
        if (status.kind === 'loaded') return stop();
        await wait(delayMs(status, failures), signal);
      }
    },
    /** Somebody waits for the list: asks now, or a moment later if that has just been done. */
    hurry: () => hurry(),
    stop: () => stop(),
  };
};

/**
 * A proxy's Retry-After of an hour would block a form for longer than the outage, so it is bounded as well.
 * @param {Failed} failed
 * @param {number} failures
 */
const delayMs = ({ retryAfterSeconds }, failures) => {
  if (retryAfterSeconds !== undefined) return Math.min(retryAfterSeconds * 1_000, LONGEST_DELAY_MS);
  const most = Math.min(FIRST_DELAY_MS * 2 ** failures, LONGEST_DELAY_MS);
  return most * (0.5 + Math.random() / 2);
};

/**
 * Offline, refused, timed out, or an origin that the service does not allow: a page cannot tell which. There is no answer
 * then.
 * @param {string} url
 * @param {AbortSignal} signal
 * @returns {Promise<Answer | undefined>}
 */
const ask = async (url, signal) => {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), LONGEST_WAIT_MS);
  try {
    const either = AbortSignal.any([signal, timeout.signal]);
    const response = await fetch(url, { credentials: 'omit', signal: either });
    const body = await response.json().catch(() => undefined);
    either.throwIfAborted();
    return { response, body };
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
};

/**
 * @param {Answer} answer
 * @param {FieldNames} fields
 * @returns {Loaded | Failed}
 */
const toStatus = ({ response, body }, fields) => {
  if (!response.ok) {
    const code = isRecord(body) ? textOf(body['code']) : '';
    return toFailed(response, code || `http_${response.status}`);
  }
  if (!Array.isArray(body)) return toFailed(response, 'not_a_list');
  const banks = body.filter(isRecord).map((entry) => toBank(entry, fields, response.url));
  const usable = banks.filter(({ id, name }) => id !== '' && name !== '');
  if (usable.length === 0) return toFailed(response, 'no_usable_bank');
  return {
    kind: 'loaded',
    banks: usable,
    overdueSeconds: overdueSeconds(response.headers.get('Cache-Status')),
  };
};

/** @type {Failed} */
const NO_ANSWER = {
  kind: 'failed',
  code: 'no_answer',
  requestId: '',
  retryAfterSeconds: undefined,
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

/** The service sends seconds; whatever else a proxy sends is left out. */
const secondsOf = (/** @type {string | null} */ retryAfter) =>
  /^\d+$/.test(retryAfter ?? '') ? Math.max(1, Number(retryAfter)) : undefined;

/**
 * @param {Record<string, unknown>} entry
 * @param {FieldNames} fields
 * @param {string} listUrl a logo's address may be relative to it
 * @returns {Bank}
 */
const toBank = (entry, fields, listUrl) => {
  const code = textOf(entry[fields.code]);
  const bank = {
    id: textOf(entry[fields.id]) || code,
    code,
    name: textOf(entry[fields.name]),
    entry,
  };
  if (fields.logo === '') return bank;
  const logo = textOf(entry[fields.logo]);
  return {
    ...bank,
    logo: logo !== '' && URL.canParse(logo, listUrl) ? new URL(logo, listUrl).href : '',
  };
};

const textOf = (/** @type {unknown} */ value) =>
  typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';

/**
 * @param {unknown} value
 * @returns {value is Record<string, unknown>}
 */
const isRecord = (value) => typeof value === 'object' && value !== null;
