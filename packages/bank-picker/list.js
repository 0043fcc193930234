import { createGroup, createOption } from './parts.js';

// The list under the field: its options, the active one, and where on the screen it is.

/**
 * @typedef {import('./bank-picker.js').BankPickerStrings} Strings
 * @typedef {import('./parts.js').Parts} Parts
 * @typedef {import('./search.js').Bank} Bank
 * @typedef {import('./search.js').Hit} Hit
 * @typedef {{ readonly title: string, readonly hits: readonly Hit[] }} Group one without a title is not announced as one
 */

/** Options are drawn this many at a time: the first 50 cost the same with 500 banks or 5,000. */
const BATCH = 50;

/** Between the field and the list, and between the list and the edge of the screen. */
const GAP_PX = 6;

/** With less room than this on both sides, the field is scrolled to make some. */
const LEAST_HEIGHT_PX = 176;

export const createList = (/** @type {Parts} */ { input, field, popup, list }) => {
  /** @type {readonly Hit[]} */
  let hits = [];
  /** How many hits come before the end of each group. @type {readonly number[]} */
  let ends = [];
  /** @type {HTMLElement[]} the options drawn so far, the first of `hits` */
  let options = [];
  /** @type {HTMLElement[]} */
  let groups = [];
  /** @type {Bank | null} */
  let chosen = null;
  /** @type {Strings | undefined} */
  let words;
  /** Index in `hits`; -1 while the text field itself is active. */
  let active = -1;
  /** @type {AbortController | undefined} ends the listeners that an open list needs */
  let opened;

  const drawUpTo = (/** @type {number} */ wanted) => {
    const until = Math.min(hits.length, Math.ceil(wanted / BATCH) * BATCH);
    for (const hit of hits.slice(options.length, until)) {
      const index = options.length;
      const where = { id: `option-${index}`, position: index + 1, total: hits.length };
      const option = createOption(hit, { ...where, isChosen: hit.bank === chosen }, words);
      const parent = groups[ends.findIndex((end) => index < end)] ?? list;
      if (parent !== list && parent.parentElement !== list) list.append(parent);
      parent.append(option);
      options.push(option);
    }
  };

  const activate = (/** @type {number} */ index) => {
    options[active]?.setAttribute('aria-selected', 'false');
    active = index;
    input.removeAttribute('aria-activedescendant');
    if (active < 0) return;
    drawUpTo(active + 1);
    const option = options[active];
    if (!option) return;
    option.setAttribute('aria-selected', 'true');
    input.setAttribute('aria-activedescendant', option.id);
    // Not scrollIntoView(), which would scroll the page as well. The first option brings its heading along.
    const top = active === 0 ? 0 : option.offsetTop - GAP_PX;
    const bottom = option.offsetTop + option.offsetHeight + GAP_PX - list.clientHeight;
    list.scrollTop = Math.min(top, Math.max(bottom, list.scrollTop));
  };

  /** Under the field, or above it where that is roomier; the on-screen keyboard of a phone takes part of the room. */
  const place = () => {
    const { left, top, bottom, width } = field.getBoundingClientRect();
    const visibleTop = visualViewport?.offsetTop ?? 0;
    const visibleBottom = visibleTop + (visualViewport?.height ?? innerHeight);
    const below = visibleBottom - bottom - 2 * GAP_PX;
    const above = top - visibleTop - 2 * GAP_PX;
    const isAbove = below < LEAST_HEIGHT_PX && above > below;
    const room = Math.max(LEAST_HEIGHT_PX / 2, isAbove ? above : below);
    const { style } = popup;
    style.left = `${left}px`;
    style.width = `${width}px`;
    style.maxHeight = `min(26em, ${room}px)`;
    style.top = isAbove ? 'auto' : `${bottom + GAP_PX}px`;
    style.bottom = isAbove ? `${innerHeight - top + GAP_PX}px` : 'auto';
    return Math.max(below, above);
  };

  list.addEventListener('scroll', () => {
    const left = list.scrollHeight - list.scrollTop - list.clientHeight;
    if (left < list.clientHeight) drawUpTo(options.length + 1);
  });

  return {
    isOpen: () => opened !== undefined,
    active: () => hits[active]?.bank,
    /** What can be read of the active option, and the heading above it. */
    activeText: () => options[active]?.textContent,
    activeGroup: () => options[active]?.parentElement?.querySelector('.heading')?.textContent,
    size: () => hits.length,

    /** Replaces the options. None is active, except the chosen bank where it is among them. */
    fill: (
      /** @type {readonly Group[]} */ parts,
      /** @type {Bank | null} */ bank,
      /** @type {Strings} */ strings,
    ) => {
      chosen = bank;
      words = strings;
      hits = parts.length === 1 ? (parts[0]?.hits ?? []) : parts.flatMap((part) => part.hits);
      ends = parts.map((_, at) =>
        parts.slice(0, at + 1).reduce((sum, part) => sum + part.hits.length, 0),
      );
      groups = parts.flatMap(({ title }, index) =>
        title ? [createGroup(`group-${index}`, title)] : [],
      );
      options = [];
      list.replaceChildren();
      list.scrollTop = 0;
      drawUpTo(1);
      activate(bank ? hits.findIndex((hit) => hit.bank === bank) : -1);
    },

    /** `to` gets the active index, -1 for none, and the last one; it gives the one to be active. */
    move: (/** @type {(index: number, last: number) => number} */ to) => {
      if (hits.length > 0) activate(to(active, hits.length - 1));
    },

    bankAt: (/** @type {EventTarget | null} */ target) => {
      const option = target instanceof Element ? target.closest('[role=option]') : null;
      return option ? hits[options.findIndex((it) => it === option)]?.bank : undefined;
    },

    open: () => {
      if (opened || !popup.isConnected) return;
      opened = new AbortController();
      const { signal } = opened;
      popup.showPopover();
      if (place() < LEAST_HEIGHT_PX) {
        field.scrollIntoView({ block: 'start' });
        place();
      }
      window.addEventListener('scroll', place, { capture: true, passive: true, signal });
      window.addEventListener('resize', place, { signal });
      visualViewport?.addEventListener('resize', place, { signal });
      visualViewport?.addEventListener('scroll', place, { signal });
      const resizes = new ResizeObserver(place);
      resizes.observe(field);
      signal.addEventListener('abort', () => resizes.disconnect());
      // The active option was chosen while nothing had a height.
      activate(active);
    },

    close: () => {
      activate(-1);
      if (!opened) return;
      opened.abort();
      opened = undefined;
      if (popup.isConnected) popup.hidePopover();
    },
  };
};
