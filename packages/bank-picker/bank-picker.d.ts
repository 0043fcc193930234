/**
 * An entry of the list as the service publishes it; `BANK_FIELDS` decides which fields there are. One that some banks lack
 * can be null.
 */
export interface Bank {
  readonly code?: string | null;
  readonly ispb?: string | null;
  readonly name?: string | null;
  readonly [field: string]: unknown;
}

/** Every word that people read. Each can be replaced by the element's `strings`. */
export interface BankPickerStrings {
  /** The language of the words below, as a BCP 47 tag; screen readers pronounce by it. */
  lang: string;
  /** The field's name where the page gives it none. */
  label: string;
  placeholder: string;
  /** The name of the list. */
  banks: string;
  /** Headings of the list while the field is empty. */
  popular: string;
  others: string;
  /** Names of the two buttons in the field. */
  show: string;
  clear: string;
  /** Stands before a chosen bank's code. */
  code: string;
  loading: string;
  available: (count: number) => string;
  found: (count: number) => string;
  none: string;
  noneHint: string;
  /** Stands beside an old name by which a bank was found: the last year of that name. */
  until: (year: number) => string;
  /** Shown where a value was set that no bank on offer has: that value, or the name of a bank that `filter` leaves out. */
  vanished: (bank: string) => string;
  /** What screen readers hear when a bank has been chosen. */
  selected: (name: string) => string;
  /** Validity messages: nothing chosen though required; text that is no bank. */
  required: string;
  incomplete: string;
  /** The field's placeholder while there is no list. */
  unavailable: string;
  failed: string;
  failedHint: string;
  /** Takes the place of `failedHint` where the service gave no answer at all. */
  offlineHint: string;
  retry: string;
  retrying: string;
  retryIn: (seconds: number) => string;
  /** Stands before what support can find the failure by. */
  reference: string;
  /** Shown once the list should have been renewed two days ago or more. */
  outdated: (days: number) => string;
}

/** The detail of `error`. */
export interface BankPickerFailure {
  /**
   * The `code` of the service's problem document, `http_<status>` where it sent none, or one of the picker's own:
   * `no_answer`, `not_a_list`, `no_usable_bank`.
   */
  readonly code: string;
  /** `X-Request-Id` of the answer, by which operators find the request in their log; '' where there was no answer. */
  readonly requestId: string;
}

export interface BankPickerEventMap {
  /** At each change of the bank that people make, also while they type; the detail is the bank, or null. */
  input: CustomEvent<Bank | null>;
  /** When such a change is final; the detail is the bank, or null. */
  change: CustomEvent<Bank | null>;
  /** The list is there; the detail is the number of banks on offer. Does not bubble. */
  load: CustomEvent<number>;
  /** A value was set that no bank on offer has; the detail is that value. Does not bubble. */
  missing: CustomEvent<string>;
  /** The list did not come; does not bubble. */
  error: CustomEvent<BankPickerFailure>;
}

/**
 * `<bank-picker src="https://…/banks" name="bank" required>`: a field in which one bank is chosen. It takes part in
 * forms as a `<select>` does; its value is the bank's `id-field`, by default its ISPB.
 */
export class BankPickerElement extends HTMLElement {
  /** The service's `/banks`. Nothing is loaded without it. */
  src: string;
  name: string;
  required: boolean;
  disabled: boolean;
  /** The label that the element shows above its field; '' for a page that has a `<label>` of its own. */
  label: string;
  /** A sentence of help between label and field, such as which account is meant; '' for none. */
  help: string;
  /** Takes the place of the strings' placeholder; '' for that one. */
  placeholder: string;
  /** The fields of an entry that are its code (default `code`), name (`name`) and id (`ispb`). */
  codeField: string;
  nameField: string;
  idField: string;
  /** The field that is the address of a bank's logo; '', the default, shows no logos. */
  logoField: string;
  /**
   * The chosen bank's id, '' for none. It can be set before the list is there. An id that no bank on offer has becomes
   * ''; the user sees a note, and the page gets `missing`. Otherwise setting it fires no event.
   */
  value: string;
  /** What the form's reset goes back to: the `value` attribute. */
  defaultValue: string;
  /** The chosen bank, once the list is there. */
  readonly bank: Bank | null;
  /** Words that take the place of the built-in ones in the element's language. */
  strings: Partial<BankPickerStrings>;
  /**
   * Decides which banks are offered; null, the default, offers all. It gets an entry of the list as published. A bank that
   * it leaves out can neither be found nor be the value.
   */
  filter: ((bank: Bank) => boolean) | null;
  readonly form: HTMLFormElement | null;
  readonly labels: NodeList;
  readonly validity: ValidityState;
  readonly validationMessage: string;
  readonly willValidate: boolean;
  checkValidity(): boolean;
  reportValidity(): boolean;
  setCustomValidity(message: string): void;

  addEventListener<Type extends keyof BankPickerEventMap>(
    type: Type,
    listener: (this: BankPickerElement, event: BankPickerEventMap[Type]) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener<Type extends Exclude<keyof HTMLElementEventMap, keyof BankPickerEventMap>>(
    type: Type,
    listener: (this: BankPickerElement, event: HTMLElementEventMap[Type]) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject,
    options?: boolean | AddEventListenerOptions,
  ): void;
}

declare global {
  interface HTMLElementTagNameMap {
    'bank-picker': BankPickerElement;
  }
}
