import { createList } from './list.js';
import { createNotices } from './notices.js';
import { createParts, isIspb } from './parts.js';
import { brandOf, createSearch, ispbOf, popularFirst } from './search.js';

// A field in which one bank is chosen: an editable combobox with list autocomplete, by the pattern of the ARIA
// Authoring Practices. Focus never leaves the text field; aria-activedescendant names the active option.

/**
 * @typedef {import('./load.js').Status} Status
 * @typedef {import('./search.js').Bank} Bank
 * @typedef {import('./search.js').Hit} Hit
 * @typedef {import('./bank-picker.js').BankPickerStrings} Strings
 * @typedef {object} Listener
 * @property {() => void} onInput the bank has changed, or the text
 * @property {() => void} onCommit the change is final
 * @property {() => void} onRetry people ask for another attempt to load
 * @property {() => void} onWanted people want to choose while the list is missing
 * @property {() => void} onSubmit Enter was pressed in a closed field
 */

/** @typedef {Bank | string} Choice a value where the bank is not known yet; '' for none */

/**
 * @typedef {object} Vanished a bank that is not on offer
 * @property {string} id
 * @property {string} name the id where its name is not known
 */

/** Fewer letters do not say which bank is meant, whatever stands first in the list. */
const FEWEST_LETTERS = 3;

/** Screen readers drop a message that comes while a key is being spoken. */
const ANNOUNCE_AFTER_MS = 250;

/**
 * VoiceOver, on a Mac, an iPhone or an iPad, does not announce the option that `aria-activedescendant` names when it is in
 * a group. The live region does, as in React Aria; other screen readers would say it twice.
 */
const isApple = () => /^(?:mac|ip)/i.test(navigator.platform);

/**
 * Fills `shadow` with a picker that has no banks yet.
 * @param {ShadowRoot} shadow
 * @param {Strings} words
 * @param {Listener} listener
 */
export const createPicker = (shadow, words, { onInput, onCommit, onRetry, onWanted, onSubmit }) => {
  const parts = createParts(shadow);
  const { root, label, input, clear, show, field, popup, count, list: listbox } = parts;
  const list = createList(parts);
  const notices = createNotices(parts, onRetry);

  let strings = words;
  /** @type {Status} */
  let status = { kind: 'idle' };
  /** @type {readonly Bank[]} */
  let banks = [];
  /** @type {(query: string) => readonly Hit[]} */
  let search = () => [];
  /** @type {Bank | null} */
  let bank = null;
  /** A value that was set while there is no list to find its bank in. */
  let awaited = '';
  /** What Escape brings back: the choice before the text was edited. @type {Choice} */
  let before = '';
  /** What a program has chosen though it is not on offer. @type {Vanished | null} */
  let vanished = null;
  let error = '';
  let name = '';
  let placeholder = '';
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let announcement;

  const announce = (/** @type {string} */ text) => {
    clearTimeout(announcement);
    announcement = setTimeout(() => (parts.live.textContent = text), ANNOUNCE_AFTER_MS);
  };

  /** Brings every part in line with the variables above; the only place that does. */
  const render = () => {
    const isLoaded = status.kind === 'loaded';
    // Also during the next attempts: the field does not come and go with them.
    const isFailed = !parts.failure.hidden;
    const isOpen = list.isOpen();
    const isListed = isOpen && isLoaded && list.size() > 0;
    root.lang = strings.lang;
    root.classList.toggle('loading', status.kind === 'loading');
    root.classList.toggle('disabled', input.disabled);
    root.ariaBusy = String(status.kind === 'loading');
    for (const it of [label, parts.help]) it.hidden = it.textContent === '';
    field.classList.toggle('wrong', error !== '' && !isFailed);
    field.classList.toggle('off', isFailed);

    parts.note.hidden = !parts.failure.hidden;
    parts.note.classList.toggle('wrong', error !== '');
    parts.note.classList.toggle('vanished', error === '' && vanished !== null);
    parts.note.textContent = error || noteOf();

    // Read-only instead of disabled: it keeps the focus, and screen readers can still find out why.
    input.readOnly = isFailed;
    input.placeholder = isFailed ? strings.unavailable : placeholder || strings.placeholder;
    input.setAttribute('aria-label', name || strings.label);
    input.setAttribute('aria-expanded', String(isListed));
    input.setAttribute('aria-invalid', String(error !== ''));
    // Of what is hidden, the text would still be read out.
    const descriptions = [parts.help, parts.note, parts.message, parts.outdated].filter(
      (it) => !it.closest('[hidden]'),
    );
    input.setAttribute('aria-describedby', descriptions.map(({ id }) => id).join(' '));
    show.setAttribute('aria-expanded', String(isListed));
    show.setAttribute('aria-label', strings.show);
    clear.setAttribute('aria-label', strings.clear);
    show.hidden = isFailed;
    clear.hidden = input.value === '' || isFailed || input.disabled;
    for (const it of [show, clear]) it.disabled = input.disabled;

    listbox.setAttribute('aria-label', strings.banks);
    listbox.hidden = !isListed;
    parts.nothing.hidden = !isLoaded || list.size() > 0;
    parts.none.textContent = strings.none;
    parts.noneHint.textContent = strings.noneHint;
    count.hidden = isLoaded && (list.size() === 0 || isAll());
    count.textContent = isLoaded ? strings.found(list.size()) : strings.loading;
  };

  const noteOf = () => {
    if (bank) return detailsOf(bank);
    if (status.kind === 'loading') return strings.loading;
    return vanished ? strings.vanished(vanished.name) : '';
  };

  const detailsOf = (/** @type {Bank} */ shown) => {
    const ispb = ispbOf(shown);
    return [
      brandOf(shown),
      shown.code && `${strings.code} ${shown.code}`,
      isIspb(ispb) && `ISPB ${ispb}`,
    ]
      .filter(Boolean)
      .join(' · ');
  };

  /** Whether the list shows all banks: nothing is asked for. A chosen bank's own text is no query. */
  const isAll = () => bank !== null || input.value.trim() === '';

  const find = () => {
    const hits = search(isAll() ? '' : input.value);
    list.fill(isAll() ? grouped(hits) : [{ title: '', hits }], bank, strings);
    if (status.kind !== 'loaded') return;
    const message = isAll() ? strings.available : strings.found;
    announce(hits.length > 0 ? message(hits.length) : strings.none);
  };

  /** @param {readonly Hit[]} hits */
  const grouped = (hits) => {
    const { popular, others } = popularFirst(hits);
    if (popular.length === 0) return [{ title: '', hits }];
    return [
      { title: strings.popular, hits: popular },
      { title: strings.others, hits: others },
    ];
  };

  const open = () => {
    if (!list.isOpen() && !input.disabled && !input.readOnly) showHits();
  };

  const showHits = () => {
    find();
    if (status.kind !== 'idle') list.open();
    render();
  };

  const close = () => {
    list.close();
    render();
  };

  /** @returns {Choice} */
  const choice = () => bank ?? awaited;

  const take = (/** @type {Choice} */ next) => {
    bank = typeof next === 'string' ? null : next;
    awaited = typeof next === 'string' ? next : '';
    before = '';
    vanished = null;
    input.value = textOf(bank);
  };

  const choose = (/** @type {Bank} */ next) => {
    take(next);
    close();
    announce(strings.selected(spokenOf(next)));
    onInput();
    onCommit();
  };

  const empty = () => {
    take('');
    if (list.isOpen()) find();
    render();
    onInput();
    onCommit();
  };

  /** What Enter takes: the active option, or the first one if the text has no error in it. */
  const meant = () => {
    const [first] = isAll() ? [] : search(input.value);
    const isClear = first?.kind === 'named' || input.value.trim().length >= FEWEST_LETTERS;
    return list.active() ?? (first && first.kind !== 'guessed' && isClear ? first.bank : undefined);
  };

  /** What leaving the field takes: the bank that the text names, or the only one that it finds. */
  const certain = () => {
    const [first, ...others] = isAll() ? [] : search(input.value);
    const isOnly =
      first?.kind === 'found' && others.length === 0 && input.value.trim().length >= FEWEST_LETTERS;
    return first && (first.kind === 'named' || isOnly) ? first.bank : undefined;
  };

  const activate = (/** @type {(index: number, last: number) => number} */ to) => {
    const wasOpen = list.isOpen();
    const group = list.activeGroup();
    open();
    if (list.isOpen() && (wasOpen || !bank)) list.move(to);
    if (!isApple() || !list.active()) return;
    announce(
      [
        !wasOpen && strings.available(list.size()),
        list.activeGroup() !== group && list.activeGroup(),
        list.active() === bank && bank ? strings.selected(spokenOf(bank)) : list.activeText(),
      ]
        .filter(Boolean)
        .join('. '),
    );
  };

  const returnToText = () => {
    list.move(() => -1);
    return true;
  };

  /** What becomes of the text that people have left in the field. */
  const settle = () => {
    const text = bank ? '' : input.value.trim();
    const next = certain();
    if (next) return choose(next);
    if (text === '') before = '';
    render();
    onCommit();
  };

  /** @type {Record<string, (event: KeyboardEvent) => boolean | void>} true leaves the key to the text field */
  const keys = {
    ArrowDown: ({ altKey }) =>
      altKey ? open() : activate((index, last) => (index < last ? index + 1 : 0)),
    ArrowUp: ({ altKey }) =>
      altKey ? close() : activate((index, last) => (index > 0 ? index - 1 : last)),
    PageDown: () => (list.isOpen() ? activate((index, last) => Math.min(index + 10, last)) : true),
    PageUp: () => (list.isOpen() ? activate((index) => Math.max(index - 10, 0)) : true),
    Home: () => (list.active() ? activate(() => 0) : true),
    End: () => (list.active() ? activate((_index, last) => last) : true),
    ArrowLeft: returnToText,
    ArrowRight: returnToText,
    Enter: () => {
      if (!list.isOpen()) return onSubmit();
      const next = meant();
      if (next) choose(next);
      else activate(() => 0);
    },
    Escape: (event) => {
      const restored = choice() === '' ? before : '';
      // Where there is nothing to take back, the key belongs to the dialog around the field.
      if (!list.isOpen() && !restored) return true;
      event.stopPropagation();
      if (restored) take(restored);
      close();
      if (restored) {
        if (bank) announce(strings.selected(spokenOf(bank)));
        onInput();
        onCommit();
      }
      return false;
    },
    Tab: () => {
      const next = list.active();
      if (list.isOpen() && next) choose(next);
      return true;
    },
  };

  input.addEventListener('keydown', (event) => {
    if (event.isComposing || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const act = Object.hasOwn(keys, event.key) ? keys[event.key] : undefined;
    if (act && act(event) !== true) event.preventDefault();
  });
  input.addEventListener('input', (event) => {
    // The page gets an event for each change of the bank, not for each letter.
    event.stopPropagation();
    before = choice() || before;
    bank = null;
    awaited = '';
    vanished = null;
    showHits();
    onInput();
  });
  input.addEventListener('change', (event) => event.stopPropagation());
  input.addEventListener('click', open);
  input.addEventListener('focus', () => {
    if (bank) input.select();
    if (status.kind === 'failed') onWanted();
  });
  input.addEventListener('blur', () => {
    list.close();
    settle();
  });
  // A press on any part keeps the focus, and with it the keyboard of a phone, where it is.
  for (const part of [popup, clear, show])
    part.addEventListener('mousedown', (event) => event.preventDefault());
  clear.addEventListener('click', () => {
    empty();
    input.focus();
  });
  show.addEventListener('click', () => {
    input.focus();
    if (list.isOpen()) close();
    else open();
  });
  listbox.addEventListener('click', ({ target }) => {
    const next = list.bankAt(target);
    if (next) choose(next);
  });

  return {
    input,
    bank: () => bank,
    choice,
    banks: () => banks,
    /** Text that stands for no bank. */
    isIncomplete: () => bank === null && input.value.trim() !== '',
    status: () => status,
    /** Also during the next attempts. */
    isFailed: () => !parts.failure.hidden,

    setStatus: (/** @type {Status} */ next) => {
      const wasFailed = !parts.failure.hidden;
      const isRetryFocused = parts.failure.contains(shadow.activeElement);
      status = next;
      notices.show(status, strings);
      if (next.kind === 'failed') {
        if (!bank) input.value = '';
        list.close();
      }
      if (next.kind === 'idle') list.close();
      if (next.kind === 'loaded') {
        if (typeof before === 'string') before = banks.find(({ id }) => id === before) ?? '';
        if (isRetryFocused) input.focus();
        const isFocused = shadow.activeElement === input;
        if (input.value && !bank && isFocused) list.open();
        if (list.isOpen()) find();
        else if (wasFailed) announce(strings.available(banks.length));
        if (input.value && !bank && !isFocused) settle();
      }
      render();
    },

    /** Replaces the banks on offer, before or after the list is loaded. */
    setBanks: (/** @type {readonly Bank[]} */ next) => {
      search = createSearch(next);
      banks = next;
      if (typeof before !== 'string' && !banks.includes(before)) before = '';
      if (banks.some(({ id }) => id === vanished?.id)) {
        vanished = null;
        announce('');
      }
      if (list.isOpen()) find();
      render();
    },

    /**
     * Shows what a program has chosen.
     * @param {Choice} next
     * @param {Vanished | null} missing what it would have chosen
     */
    select: (next, missing) => {
      take(next);
      vanished = missing;
      if (missing) announce(strings.vanished(missing.name));
      if (list.isOpen()) find();
      render();
    },

    setStrings: (/** @type {Strings} */ next) => {
      strings = next;
      notices.show(status, strings);
      if (list.isOpen()) find();
      render();
    },

    setCountdown: (/** @type {number} */ seconds) => {
      notices.countDown(seconds, strings);
    },

    /** @param {{ isDisabled: boolean }} field */
    setDisabled: ({ isDisabled }) => {
      input.disabled = isDisabled;
      if (isDisabled) list.close();
      render();
    },

    /** @param {{ visible: string, spoken: string, hint: string, help: string, isRequired: boolean }} texts each may be '' */
    setLabel: ({ visible, spoken, hint, help, isRequired }) => {
      label.textContent = visible;
      parts.help.textContent = help;
      name = visible || spoken;
      placeholder = hint;
      input.setAttribute('aria-required', String(isRequired));
      render();
    },

    setError: (/** @type {string} */ message) => {
      error = message;
      render();
    },

    stop: () => {
      clearTimeout(announcement);
      close();
    },
  };
};

/** The brand is left out: the field shows what a transfer's form would. The note beside it has the brand. */
const textOf = (/** @type {Bank | null} */ bank) => bank?.name ?? '';

const spokenOf = (/** @type {Bank} */ bank) =>
  [brandOf(bank), textOf(bank)].filter(Boolean).join(', ');
