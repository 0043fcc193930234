import { rootOf } from './surroundings.js';

// What Enter does in a field of a form, which HTML calls implicit submission.

/** A form without a button is sent from its only field, and not from one of several: people may not be done. */
const TEXT_TYPES = new Set([
  'text',
  'search',
  'tel',
  'url',
  'email',
  'password',
  'date',
  'month',
  'week',
  'time',
  'datetime-local',
  'number',
]);

const BUTTON_TYPES = new Set(['submit', 'image']);

/**
 * Sends the form as Enter does in a native text field. The form's own properties are not used: a field called
 * `elements` or `requestSubmit` would take their place, and image buttons are not among them.
 * @param {HTMLElement & { readonly form: HTMLFormElement | null }} field
 */
export const submitFrom = (field) => {
  const { form } = field;
  if (!form) return;
  const root = rootOf(field);
  /** @type {NodeListOf<HTMLInputElement | HTMLButtonElement>} */
  const controls = root.querySelectorAll('input, button');
  const native = [...controls].filter((it) => it.form === form);
  const button = native.find(({ type }) => BUTTON_TYPES.has(type));
  if (button) return button.click();
  /** @type {NodeListOf<typeof field>} */
  const pickers = root.querySelectorAll(field.localName);
  const fields = [
    ...native.filter(({ type }) => TEXT_TYPES.has(type)),
    ...[...pickers].filter((it) => it.form === form),
  ];
  if (fields.length === 1) HTMLFormElement.prototype.requestSubmit.call(form);
};
