import { fetchBanks } from './banks.js';
import { createFailure, createOption, createParts, createStaleNote } from './parts.js';
import { createSearch } from './search.js';

// A field in which one bank is chosen: an editable combobox with list autocomplete, by the pattern of the ARIA
// Authoring Practices. Focus never leaves the text field; the active option is told by aria-activedescendant.

/**
 * @typedef {import('./search.js').Bank} Bank
 * @typedef {import('./search.js').Hit} Hit
 * @typedef {import('./strings.js').Strings} Strings
 * @typedef {object} BankPickerOptions
 * @property {string} banksUrl the service's `/banks`
 * @property {Strings} strings
 * @property {(bank: Bank | undefined) => void} onChange told the bank that was chosen, undefined when it no longer is
 */

/** Options are added to the page this many at a time: a first paint for 50 costs the same with 500 banks or 5,000. */
const BATCH = 50;

/** Screen readers drop a message that comes while a key is being spoken. */
const ANNOUNCE_AFTER_MS = 250;

/**
 * Fills `root`, loads the list and keeps itself up to date from then on. `root`'s id, which the ids of its parts
 * begin with, must be unique in the page.
 * @param {HTMLElement} root
 * @param {BankPickerOptions} options
 */
export const mountBankPicker = (root, { banksUrl, strings, onChange }) => {
  const parts = createParts(root, strings);
  const { ids, input, clearButton, showButton, listbox, count, none, popup, note, stale, failure, live } =
    parts;
  const optionId = (/** @type {number} */ index) => `${root.id}-option-${index}`;

  /** @type {'loading' | 'loaded' | 'failed'} */
  let state = 'loading';
  /** @type {(query: string) => Hit[]} */
  let search = () => [];
  /** @type {readonly Hit[]} */
  let hits = [];
  /** @type {Bank | undefined} */
  let chosen;
  let isOpen = false;
  /** Index in `hits`; -1 while the text field itself is active. */
  let active = -1;
  let rendered = 0;
  let isIncomplete = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let announcement;
  /** @type {ReturnType<typeof setInterval> | undefined} */
  let countdown;

  const announce = (/** @type {string} */ text) => {
    clearTimeout(announcement);
    announcement = setTimeout(() => (live.textContent = text), ANNOUNCE_AFTER_MS);
  };

  /** Brings every part of the page in line with the variables above; the only place that writes them to it. */
  const show = () => {
    const isListed = isOpen && state === 'loaded' && hits.length > 0;
    root.dataset['state'] = state;
    root.setAttribute('aria-busy', String(state === 'loading'));
    popup.hidden = !isOpen || state === 'failed';
    listbox.hidden = !isListed;
    count.hidden = state === 'loaded' && !isListed;
    none.hidden = state !== 'loaded' || hits.length > 0;
    clearButton.hidden = input.value === '';
    input.setAttribute('aria-expanded', String(isListed));
    showButton.setAttribute('aria-expanded', String(isListed));
    input.setAttribute('aria-invalid', String(isIncomplete));
    note.hidden = state === 'failed';
    input.setAttribute('aria-describedby', state === 'failed' ? ids.reason : ids.note);
    note.textContent =
      state === 'loading' ? strings.loading : isIncomplete ? strings.incomplete : strings.hint;
    note.classList.toggle('bp-error', isIncomplete && state !== 'loading');
    listbox.querySelector('[aria-selected="true"]')?.setAttribute('aria-selected', 'false');
    input.removeAttribute('aria-activedescendant');
    if (isListed && active >= 0) {
      renderUpTo(active + 1);
      const option = listbox.children[active];
      option?.setAttribute('aria-selected', 'true');
      option?.scrollIntoView({ block: 'nearest' });
      input.setAttribute('aria-activedescendant', optionId(active));
    }
  };

  const renderUpTo = (/** @type {number} */ wanted) => {
    if (wanted <= rendered) return;
    const until = Math.min(hits.length, Math.ceil(wanted / BATCH) * BATCH);
    for (const [offset, hit] of hits.slice(rendered, until).entries()) {
      const index = rendered + offset;
      const place = { id: optionId(index), position: index + 1, total: hits.length };
      listbox.append(createOption(hit, { ...place, isChosen: hit.bank === chosen }));
    }
    rendered = until;
  };

  /** A chosen bank's own text is no query: opening the list again shows all banks, with that one active. */
  const find = () => {
    hits = search(chosen ? '' : input.value);
    active = chosen ? hits.findIndex(({ bank }) => bank === chosen) : -1;
    rendered = 0;
    listbox.replaceChildren();
    listbox.scrollTop = 0;
    renderUpTo(1);
    if (state !== 'loaded') return;
    const told = chosen || input.value.trim() === '' ? strings.ready : strings.found;
    count.textContent = told(hits.length);
    announce(hits.length > 0 ? told(hits.length) : strings.none);
  };

  const open = () => {
    if (isOpen) return;
    isOpen = true;
    find();
    show();
    popup.scrollIntoView({ block: 'nearest' });
  };

  const close = () => {
    isOpen = false;
    active = -1;
    show();
  };

  const choose = (/** @type {Bank} */ bank) => {
    chosen = bank;
    isIncomplete = false;
    input.value = bank.code ? `${bank.code} – ${bank.name}` : bank.name;
    close();
    announce(strings.picked(input.value));
    onChange(bank);
  };

  const forget = () => {
    if (!chosen) return;
    chosen = undefined;
    onChange(undefined);
  };

  const clear = () => {
    input.value = '';
    isIncomplete = false;
    forget();
    if (isOpen) find();
    show();
  };

  const activate = (/** @type {(index: number, last: number) => number} */ move) => {
    const opensAtChosen = !isOpen && chosen !== undefined;
    open();
    if (hits.length > 0 && !opensAtChosen) active = move(active, hits.length - 1);
    show();
  };

  /** What Enter takes: the active option, or the only bank that the text can mean, such as a whole code. */
  const meant = () => {
    if (active >= 0) return hits[active]?.bank;
    const text = input.value.trim();
    const [first, ...others] = text && state === 'loaded' ? hits : [];
    return others.length === 0 || first?.bank.code === text ? first?.bank : undefined;
  };

  /** @type {Record<string, (event: KeyboardEvent) => boolean | void>} true leaves the key to the text field */
  const keys = {
    ArrowDown: ({ altKey }) => (altKey ? open() : activate((index, last) => (index < last ? index + 1 : 0))),
    ArrowUp: ({ altKey }) => (altKey ? close() : activate((index, last) => (index > 0 ? index - 1 : last))),
    PageDown: () => (isOpen ? activate((index, last) => Math.min(index + 10, last)) : true),
    PageUp: () => (isOpen ? activate((index) => Math.max(index - 10, 0)) : true),
    Home: () => (active >= 0 ? activate(() => 0) : true),
    End: () => (active >= 0 ? activate((_index, last) => last) : true),
    ArrowLeft: () => returnToText(),
    ArrowRight: () => returnToText(),
    Enter: () => {
      if (!isOpen) return true;
      const bank = meant();
      if (bank) choose(bank);
      return false;
    },
    Escape: () => (isOpen ? close() : clear()),
    Tab: () => true,
  };

  const returnToText = () => {
    active = -1;
    show();
    return true;
  };

  input.addEventListener('keydown', (event) => {
    if (event.isComposing || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const act = Object.hasOwn(keys, event.key) ? keys[event.key] : undefined;
    if (act && act(event) !== true) event.preventDefault();
  });
  input.addEventListener('input', () => {
    isIncomplete = false;
    forget();
    isOpen = true;
    find();
    show();
  });
  input.addEventListener('click', open);
  input.addEventListener('focus', () => chosen && input.select());
  input.addEventListener('blur', () => {
    isIncomplete = !chosen && state === 'loaded' && input.value.trim() !== '';
    close();
  });
  // A press on any part keeps the focus, and with it the keyboard of a phone, where it is.
  for (const part of [popup, clearButton, showButton]) {
    part.addEventListener('mousedown', (event) => event.preventDefault());
  }
  clearButton.addEventListener('click', () => {
    clear();
    input.focus();
  });
  showButton.addEventListener('click', () => {
    input.focus();
    if (isOpen) close();
    else open();
  });
  listbox.addEventListener('click', ({ target }) => {
    const row = target instanceof Element ? target.closest('[role=option]') : null;
    const hit = row ? hits[[...listbox.children].indexOf(row)] : undefined;
    if (hit) choose(hit.bank);
  });
  listbox.addEventListener('scroll', () => {
    const left = listbox.scrollHeight - listbox.scrollTop - listbox.clientHeight;
    if (left < listbox.clientHeight) renderUpTo(rendered + 1);
  });

  const load = async () => {
    clearInterval(countdown);
    state = 'loading';
    show();
    const answer = await fetchBanks(banksUrl);
    state = answer.state;
    if (answer.state === 'failed') showFailure(answer);
    else {
      if (failure.contains(document.activeElement)) input.focus();
      failure.replaceChildren();
      search = createSearch(answer.banks);
      const notes =
        answer.overdueSeconds === undefined ? [] : createStaleNote(strings, answer.overdueSeconds);
      stale.replaceChildren(...notes);
      announce([strings.ready(answer.banks.length), ...(notes.length > 0 ? [strings.stale] : [])].join('. '));
      if (isOpen) find();
    }
    show();
  };

  const showFailure = (/** @type {import('./banks.js').Failed} */ failed) => {
    const retryHadFocus = failure.contains(document.activeElement);
    const { panel, retry, wait } = createFailure(root, strings, failed);
    const again = () => {
      // Not `disabled`: that would drop the focus while the answer is awaited.
      if (retry.getAttribute('aria-disabled') === 'true') return;
      retry.setAttribute('aria-disabled', 'true');
      retry.textContent = strings.retrying;
      wait.textContent = '';
      void load();
    };
    retry.addEventListener('click', again);
    failure.replaceChildren(...panel);
    if (retryHadFocus) retry.focus();
    if (failed.retryAfterSeconds === undefined) return;
    let left = failed.retryAfterSeconds;
    const tick = () => {
      if (left <= 0) return again();
      wait.textContent = strings.retryIn(left);
      left -= 1;
    };
    tick();
    countdown = setInterval(tick, 1_000);
  };

  void load();
};
