import { rootOf } from './surroundings.js';

// Tells a form that shows its errors from one that only looks for them. Native fields show theirs when the form is sent
// and after reportValidity(), and stay silent after checkValidity(). The event `invalid` is the same for all three.

/**
 * Calls `onReport` when an invalid field is to show its error.
 * @param {HTMLElement & { readonly form: HTMLFormElement | null }} field
 * @param {() => void} onReport
 */
export const createReports = (field, onReport) => {
  let isCausedByScript = false;
  let isSending = false;

  /** Where a form reports its errors, the focus goes to the first of them. */
  const isErrorOfForm = (/** @type {Element | null} */ element) =>
    element === field ||
    (element !== null &&
      'form' in element &&
      element.form === field.form &&
      element.matches(':invalid'));

  field.addEventListener('invalid', () => {
    const before = rootOf(field).activeElement;
    isCausedByScript = true;
    queueMicrotask(() => {
      isCausedByScript = false;
      const now = rootOf(field).activeElement;
      if (now !== before && isErrorOfForm(now)) onReport();
    });
  });

  // Between two listeners, microtasks run unless the event was caused by a script, which goes on after them. The browser
  // itself causes it only when people send the form.
  field.addEventListener('invalid', () => {
    if (isSending || !isCausedByScript) onReport();
  });

  return {
    /** Does what sends the form. The focus may be in the field already. */
    send: (/** @type {() => void} */ act) => {
      isSending = true;
      act();
      isSending = false;
    },
  };
};
