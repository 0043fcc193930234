import { createLoader } from './load.js';
import { createPicker } from './picker.js';
import { createReports } from './reports.js';
import { stringsFor } from './strings.js';
import { styleSheet } from './style.js';
import { labelledBy, languageOf, rootOf, rootsAround } from './surroundings.js';

// The element: attributes, form and life cycle around the picker. README.md describes its outside, bank-picker.d.ts
// its types.

/**
 * @typedef {import('./bank-picker.js').BankPickerElement} Types
 * @typedef {import('./bank-picker.js').BankPickerStrings} Strings
 * @typedef {import('./load.js').Status} Status
 * @typedef {import('./picker.js').Choice} Choice
 * @typedef {import('./search.js').Bank} Bank
 * @typedef {import('./search.js').Entry} Entry
 * @typedef {'custom' | 'incomplete' | 'failed' | 'required'} Problem why the field blocks its form
 */

/** Properties that mirror an attribute, each with what an absent one means. */
const TEXTS = /** @type {const} */ ({
  src: ['src', ''],
  name: ['name', ''],
  label: ['label', ''],
  placeholder: ['placeholder', ''],
  codeField: ['code-field', 'code'],
  nameField: ['name-field', 'name'],
  idField: ['id-field', 'ispb'],
  logoField: ['logo-field', ''],
  help: ['help', ''],
  defaultValue: ['value', ''],
});

/** So that a server that renders pages can import the element: it has no HTMLElement. */
const Base = /** @type {new () => HTMLElement & Record<keyof typeof TEXTS, string>} */ (
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the loop below makes it so
  class extends (globalThis.HTMLElement ?? Object) {}
);
for (const [property, [attribute, absent]] of Object.entries(TEXTS)) {
  Object.defineProperty(Base.prototype, property, {
    /** @this {HTMLElement} */
    get() {
      return this.getAttribute(attribute) ?? absent;
    },
    /** @this {HTMLElement} */
    set(/** @type {string | null | undefined} */ value) {
      this.setAttribute(attribute, value ?? '');
    },
  });
}

const FLAGS = /** @type {const} */ ({
  custom: 'customError',
  incomplete: 'badInput',
  failed: 'valueMissing',
  required: 'valueMissing',
});

/** What the developer is to check where another attempt does not help. */
const ADVICE = new Map([
  ['no_src', 'there is no src, so no list is loaded'],
  ['not_a_list', 'src gives no list: it must be the address of /banks of the service'],
  ['no_usable_bank', 'no bank has an id and a name: check id-field, code-field and name-field'],
]);

/** Of what sends a form. */
const BUTTON_TYPES = new Set(['submit', 'image']);

/** Attributes with which the list is loaded. */
const isSource = (/** @type {string} */ attribute) => /^src$|-field$/.test(attribute);

/** @implements {Types} */
export class BankPickerElement extends Base {
  static formAssociated = true;
  static observedAttributes = [
    ...Object.values(TEXTS).map(([attribute]) => attribute),
    'aria-label',
    'aria-labelledby',
    'required',
    'lang',
  ];

  #internals = this.attachInternals();
  #shadow = this.attachShadow({ mode: 'open', delegatesFocus: true });
  /** @type {Partial<Strings>} */
  #strings = {};
  #words = stringsFor('');
  /** @type {((bank: Entry) => boolean) | null} */
  #filter = null;
  /** All banks of the list, also those that the filter leaves out. @type {readonly Bank[]} */
  #all = [];
  #picker = createPicker(this.#shadow, this.#words, {
    onInput: () => this.#onInput(),
    onCommit: () => this.#onCommit(),
    onRetry: () => this.#load(),
    onWanted: () => this.#loader.hurry(),
    onSubmit: () => this.#reports.send(() => this.#submit()),
  });
  #loader = createLoader({
    onStatus: (status) => this.#onStatus(status),
    onCountdown: (seconds) => this.#picker.setCountdown(seconds),
  });
  #reports = createReports(this, () => this.#report());
  /** What `input` and `change` have reported last: banks, since two of them may have one id. @type {Choice} */
  #reported = '';
  /** @type {Choice} */
  #committed = '';
  /** Whether the value is no longer that of the attribute. */
  #isDirty = false;
  #customError = '';
  /** The problem that people are shown; it goes with its cause. @type {Problem | undefined} */
  #shown;
  #isLoadDue = false;
  /** What the developer was told last. */
  #advice = '';
  /** A page may change its language at any time, and that of a part of it. */
  #languages = new MutationObserver(() => {
    if (languageOf(this) !== this.#language) this.#speak();
  });
  #language = '';

  constructor() {
    super();
    this.#shadow.adoptedStyleSheets = [styleSheet()];
    this.addEventListener('focusin', () => this.#label());
  }

  connectedCallback() {
    // A framework may have set properties on the instance before this class was defined; they hide the accessors.
    for (const key of [
      ...Object.keys(TEXTS),
      'required',
      'disabled',
      'strings',
      'filter',
      'value',
    ]) {
      if (!Object.hasOwn(this, key)) continue;
      const value = Reflect.get(this, key);
      Reflect.deleteProperty(this, key);
      Reflect.set(this, key, value);
    }
    for (const root of rootsAround(this))
      this.#languages.observe(root, { attributeFilter: ['lang'], subtree: true });
    this.#speak();
    this.#label();
    this.#sync();
    if (this.#isLoadDue || this.#picker.status().kind !== 'loaded') this.#scheduleLoad();
  }

  disconnectedCallback() {
    this.#languages.disconnect();
    this.#loader.stop();
    this.#picker.stop();
  }

  /** @param {string} name */
  attributeChangedCallback(name) {
    if (isSource(name)) this.#scheduleLoad();
    else if (name === 'value' && !this.#isDirty) this.#select(this.defaultValue);
    else if (name === 'lang') this.#speak();
    this.#label();
    this.#validate();
  }

  formAssociatedCallback() {
    this.#label();
  }

  /** @param {boolean} isDisabled by its own attribute or a fieldset's */
  formDisabledCallback(isDisabled) {
    if (isDisabled) this.#shown = undefined;
    this.#picker.setDisabled({ isDisabled });
    this.#validate();
  }

  formResetCallback() {
    this.#isDirty = false;
    this.#select(this.defaultValue);
  }

  /** @param {string} state what was given to setFormValue() */
  formStateRestoreCallback(state) {
    this.value = state;
  }

  get value() {
    const choice = this.#picker.choice();
    return typeof choice === 'string' ? choice : choice.id;
  }

  /** @param {string | number | null | undefined} value */
  set value(value) {
    const wanted = String(value ?? '');
    this.#isDirty = true;
    // A form that is bound to the value sets it right after the event: that must not disturb typing.
    if (wanted !== this.value || (wanted === '' && !this.matches(':focus-within')))
      this.#select(wanted);
  }

  get bank() {
    return this.#picker.bank()?.entry ?? null;
  }

  get strings() {
    return this.#strings;
  }

  set strings(strings) {
    this.#strings = strings ?? {};
    this.#speak();
    this.#label();
  }

  get filter() {
    return this.#filter;
  }

  set filter(filter) {
    this.#filter = filter ?? null;
    const banks = this.#offered();
    const before = this.#picker.banks();
    // A framework may set a new function with the same result each time it renders.
    if (banks.length === before.length && banks.every((bank, at) => bank === before[at])) return;
    const bank = this.#picker.bank();
    this.#picker.setBanks(banks);
    if (bank && !banks.includes(bank)) this.#select(bank.id);
  }

  get required() {
    return this.hasAttribute('required');
  }

  set required(isRequired) {
    this.toggleAttribute('required', isRequired);
  }

  get disabled() {
    return this.hasAttribute('disabled');
  }

  set disabled(isDisabled) {
    this.toggleAttribute('disabled', isDisabled);
  }

  get form() {
    return this.#internals.form;
  }

  get labels() {
    return this.#internals.labels;
  }

  get validity() {
    return this.#internals.validity;
  }

  get validationMessage() {
    return this.#internals.validationMessage;
  }

  get willValidate() {
    return this.#internals.willValidate;
  }

  checkValidity() {
    return this.#internals.checkValidity();
  }

  reportValidity() {
    const isValid = this.#internals.reportValidity();
    if (!isValid) this.#report();
    return isValid;
  }

  /** @param {string} message */
  setCustomValidity(message) {
    this.#customError = message;
    this.#validate();
  }

  /** Once for all attributes that are set together, and not before the element is in the page. */
  #scheduleLoad() {
    this.#isLoadDue = true;
    queueMicrotask(() => {
      if (!this.#isLoadDue || !this.isConnected) return;
      this.#isLoadDue = false;
      this.#load();
    });
  }

  #load() {
    if (this.src === '') {
      this.#loader.stop();
      // A list that is there can still be chosen from.
      if (this.#picker.status().kind !== 'loaded') this.#onStatus({ kind: 'idle' });
      this.#advise('no_src');
      return;
    }
    void this.#loader.load(this.src, {
      code: this.codeField,
      name: this.nameField,
      id: this.idField,
      logo: this.logoField,
    });
  }

  #onStatus(/** @type {Status} */ status) {
    const { value } = this;
    if (status.kind === 'loaded') {
      this.#all = status.banks;
      this.#picker.setBanks(this.#offered());
    }
    this.#picker.setStatus(status);
    this.#internals.states.clear();
    if (status.kind !== 'idle') this.#internals.states.add(status.kind);
    if (status.kind === 'loaded' && value !== '') this.#select(value);
    this.#label();
    this.#validate();
    if (status.kind === 'loaded') this.#emit('load', this.#picker.banks().length, false);
    if (status.kind === 'failed') {
      this.#advise(status.code);
      this.#emit('error', { code: status.code, requestId: status.requestId }, false);
    }
  }

  /** Once, not at each attempt. */
  #advise(/** @type {string} */ code) {
    const advice = ADVICE.get(code);
    if (!advice || this.#advice === advice) return;
    this.#advice = advice;
    // oxlint-disable-next-line no-console -- only a developer can mend it
    console.warn(`<bank-picker>: ${advice}`, this);
  }

  /** The banks that the filter lets through. One that it cannot decide on is left out. */
  #offered() {
    const filter = this.#filter;
    if (!filter) return this.#all;
    return this.#all.filter(({ entry }) => {
      try {
        return filter(entry);
      } catch (error) {
        reportError(error);
        return false;
      }
    });
  }

  /** Chooses the bank with this id without an event. */
  #select(/** @type {string} */ value) {
    const isLoaded = this.#picker.status().kind === 'loaded';
    const bank = value === '' ? undefined : this.#picker.banks().find(({ id }) => id === value);
    const name = this.#all.find(({ id }) => id === value)?.name ?? value;
    const missing = isLoaded && !bank && value !== '' ? { id: value, name } : null;
    this.#shown = undefined;
    this.#picker.select(bank ?? (isLoaded ? '' : value), missing);
    this.#reported = this.#picker.choice();
    this.#committed = this.#picker.choice();
    this.#sync();
    if (missing) this.#emit('missing', value, false);
  }

  #onInput() {
    this.#isDirty = true;
    this.#shown = undefined;
    this.#sync();
    if (this.#picker.choice() === this.#reported) return;
    this.#reported = this.#picker.choice();
    this.#emit('input', this.bank, true);
  }

  #onCommit() {
    if (this.#problem() === 'incomplete' && this.#picker.status().kind === 'loaded') {
      this.#shown = 'incomplete';
    }
    this.#validate();
    if (this.#picker.choice() === this.#committed) return;
    this.#committed = this.#picker.choice();
    this.#emit('change', this.bank, true);
  }

  #sync() {
    this.#internals.setFormValue(this.value);
    this.#validate();
  }

  #validate() {
    const problem = this.#problem();
    const { failed, failedHint, incomplete, required } = this.#words;
    const messages = {
      custom: this.#customError,
      incomplete,
      failed: `${failed} ${failedHint}`,
      required,
    };
    const message = problem ? messages[problem] : '';
    this.#internals.setValidity(
      problem ? { [FLAGS[problem]]: true } : {},
      message,
      this.#picker.input,
    );
    if (this.#shown !== problem) this.#shown = undefined;
    this.#picker.setError(this.#shown ? message : '');
  }

  /** The form is sent, or the page wants people to see what is wrong. */
  #report() {
    this.#shown = this.#problem();
    this.#validate();
    this.#loader.hurry();
  }

  /** The form's first button is clicked, as by an Enter in a native text field. */
  #submit() {
    if (!this.form) return;
    /** @type {NodeListOf<HTMLInputElement | HTMLButtonElement>} */
    const controls = rootOf(this).querySelectorAll('input, button');
    [...controls].find(({ form, type }) => form === this.form && BUTTON_TYPES.has(type))?.click();
  }

  /** @returns {Problem | undefined} */
  #problem() {
    if (this.#customError) return 'custom';
    if (this.#picker.isIncomplete()) return 'incomplete';
    if (!this.required || this.value !== '') return undefined;
    return this.#picker.isFailed() ? 'failed' : 'required';
  }

  #speak() {
    this.#language = languageOf(this);
    this.#words = { ...stringsFor(this.#language), ...this.#strings };
    this.#picker.setStrings(this.#words);
    this.#validate();
  }

  /** The input cannot refer to a label outside the shadow root, so the label's text is copied. */
  #label() {
    const spoken =
      (labelledBy(this) || this.getAttribute('aria-label')) ??
      [...this.#internals.labels].map(({ textContent }) => textContent?.trim()).join(' ');
    this.#picker.setLabel({
      visible: this.label,
      spoken,
      hint: this.placeholder,
      help: this.help,
      isRequired: this.required,
    });
  }

  /**
   * @param {string} type
   * @param {unknown} detail
   * @param {boolean} bubbles
   */
  #emit(type, detail, bubbles) {
    this.dispatchEvent(new CustomEvent(type, { detail, bubbles }));
  }
}

// If a page loads it twice, as in two bundles, the first one stays.
if (globalThis.customElements && !customElements.get('bank-picker')) {
  customElements.define('bank-picker', BankPickerElement);
}
