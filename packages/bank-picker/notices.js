// What stands under the field about the list itself: that it did not come, or that it is old.

/**
 * @typedef {import('./bank-picker.js').BankPickerStrings} Strings
 * @typedef {import('./load.js').Failed} Failed
 * @typedef {import('./load.js').Status} Status
 * @typedef {import('./parts.js').Parts} Parts
 */

const SECONDS_PER_DAY = 86_400;

/** Lists of banks change about ten times a month: a list a day late is nearly always the same. */
const OUTDATED_AFTER_DAYS = 2;

/**
 * @param {Parts} parts
 * @param {() => void} onRetry people ask for another attempt to load
 */
export const createNotices = (
  { outdated, failure, message, failed, failedHint, retry, wait, reference },
  onRetry,
) => {
  /** Whether people wait for the outcome of the attempt. */
  let isAskedFor = false;

  retry.addEventListener('click', () => {
    // Not `disabled`: that would drop the focus while the answer is awaited.
    if (retry.getAttribute('aria-disabled') === 'true') return;
    isAskedFor = true;
    onRetry();
  });

  const showFailure = (
    /** @type {Failed} */ { code, requestId },
    /** @type {Strings} */ strings,
  ) => {
    setText(failed, strings.failed);
    setText(failedHint, code === 'no_answer' ? strings.offlineHint : strings.failedHint);
    // Put in anew, it is read out; not at each attempt that nobody asked for.
    if (failure.hidden || isAskedFor) message.replaceChildren(failed, ' ', failedHint);
    isAskedFor = false;
    failure.hidden = false;
    retry.textContent = strings.retry;
    retry.removeAttribute('aria-disabled');
    wait.textContent = '';
    reference.textContent = `${strings.reference}: ${[code, requestId].filter(Boolean).join(' · ')}`;
  };

  const showAttempt = (/** @type {Strings} */ strings) => {
    retry.setAttribute('aria-disabled', 'true');
    retry.textContent = strings.retrying;
    wait.textContent = '';
  };

  const showAge = (/** @type {number} */ overdueSeconds, /** @type {Strings} */ strings) => {
    const days = Math.floor(overdueSeconds / SECONDS_PER_DAY);
    failure.hidden = true;
    outdated.hidden = days < OUTDATED_AFTER_DAYS;
    outdated.textContent = outdated.hidden ? '' : strings.outdated(days);
  };

  return {
    show: (/** @type {Status} */ status, /** @type {Strings} */ strings) => {
      if (status.kind === 'failed') showFailure(status, strings);
      else if (status.kind === 'loaded') showAge(status.overdueSeconds, strings);
      else if (status.kind === 'idle') failure.hidden = true;
      else if (!failure.hidden) showAttempt(strings);
    },
    countDown: (/** @type {number} */ seconds, /** @type {Strings} */ strings) => {
      wait.textContent = strings.retryIn(seconds);
    },
  };
};

/** Some screen readers read a text out again when it is replaced by the same one. */
const setText = (/** @type {Element} */ element, /** @type {string} */ text) => {
  if (element.textContent !== text) element.textContent = text;
};
