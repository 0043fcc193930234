import { pieces } from './search.js';
import { reasonOf, timeAgo } from './strings.js';

// What the picker is made of: elements with their roles, labels and relations, and no behaviour. Every text becomes a
// text node, so nothing that the network sends can be markup.

/**
 * @typedef {import('./banks.js').Failed} Failed
 * @typedef {import('./search.js').Hit} Hit
 * @typedef {import('./search.js').Span} Span
 * @typedef {import('./strings.js').Strings} Strings
 */

/**
 * Fills `root` and gives the parts that change. Their ids begin with `root`'s, which must be unique in the page.
 * @param {HTMLElement} root
 * @param {Strings} strings
 */
export const createParts = (root, strings) => {
  const ids = {
    input: `${root.id}-input`,
    listbox: `${root.id}-listbox`,
    note: `${root.id}-note`,
    reason: reasonId(root),
  };
  const input = element('input', {
    class: 'bp-input',
    id: ids.input,
    type: 'text',
    role: 'combobox',
    placeholder: strings.placeholder,
    'aria-autocomplete': 'list',
    'aria-expanded': 'false',
    'aria-controls': ids.listbox,
    'aria-describedby': ids.note,
    autocomplete: 'off',
    autocapitalize: 'none',
    spellcheck: 'false',
    enterkeyhint: 'done',
  });
  const clearButton = button('bp-icon bp-clear', strings.clear, 'm6 6 8 8m0-8-8 8');
  const showButton = button('bp-icon bp-show', strings.show, 'm5 7.5 5 5 5-5');
  showButton.setAttribute('aria-controls', ids.listbox);
  const listbox = element('ul', {
    class: 'bp-list',
    id: ids.listbox,
    role: 'listbox',
    'aria-label': strings.banks,
  });
  const count = element('p', { class: 'bp-count', 'aria-hidden': 'true' }, [strings.loading]);
  const none = element('div', { class: 'bp-none' }, [
    element('strong', {}, [strings.none]),
    element('span', {}, [strings.noneHint]),
  ]);
  const popup = element('div', { class: 'bp-popup' }, [count, listbox, none, skeleton()]);
  const note = element('p', { class: 'bp-note', id: ids.note });
  const stale = element('p', { class: 'bp-stale' });
  const failure = element('div', { class: 'bp-failure' });
  const live = element('p', { class: 'bp-live', role: 'status' });
  const field = element('div', { class: 'bp-field' }, [
    icon('bp-lens', 'M9 15A6 6 0 1 0 9 3a6 6 0 0 0 0 12Zm4.5-1.5L17 17'),
    input,
    clearButton,
    showButton,
  ]);
  root.classList.add('bp');
  root.lang = strings.tag;
  root.replaceChildren(
    element('label', { class: 'bp-label', for: ids.input }, [strings.label]),
    element('div', { class: 'bp-anchor' }, [field, popup]),
    note,
    stale,
    failure,
    live,
  );
  return { ids, input, clearButton, showButton, listbox, count, none, popup, note, stale, failure, live };
};

const reasonId = (/** @type {HTMLElement} */ root) => `${root.id}-reason`;

/**
 * @param {Hit} hit
 * @param {{ id: string, position: number, total: number, isChosen: boolean }} place `position` counts from 1
 */
export const createOption = ({ bank, code, ispb, name }, { id, position, total, isChosen }) =>
  element(
    'li',
    {
      class: isChosen ? 'bp-option bp-chosen' : 'bp-option',
      id,
      role: 'option',
      'aria-selected': 'false',
      'aria-posinset': String(position),
      'aria-setsize': String(total),
    },
    [
      element('span', { class: 'bp-code' }, bank.code ? marked(bank.code, code) : ['—']),
      element('span', { class: 'bp-name' }, marked(bank.name, name)),
      element('span', { class: 'bp-ispb' }, bank.ispb ? ['ISPB ', ...marked(bank.ispb, ispb)] : []),
    ],
  );

/** What the note about a stale list consists of. */
export const createStaleNote = (/** @type {Strings} */ strings, /** @type {number} */ overdueSeconds) => [
  icon('bp-sign', 'M10 3 2 17h16L10 3Zm0 5.25v4m0 2.25v.01'),
  element('span', {}, [
    element('strong', {}, [strings.stale]),
    ' ',
    strings.staleSince(timeAgo(strings, overdueSeconds)),
  ]),
];

/**
 * What the panel about a failure consists of.
 * @param {HTMLElement} root
 * @param {Strings} strings
 * @param {Failed} failed
 */
export const createFailure = (root, strings, { code, requestId }) => {
  const retry = element('button', { class: 'bp-retry', type: 'button' }, [strings.retry]);
  const wait = element('span', { class: 'bp-wait' });
  const reference = [code, ...(requestId === undefined ? [] : [requestId])].join(' · ');
  const panel = [
    icon('bp-sign', 'M10 18a8 8 0 1 0 0-16 8 8 0 0 0 0 16Zm0-11.5v4.25m0 2.75v.01'),
    // Not the whole panel: its countdown would be read out every second.
    element('div', { id: reasonId(root), role: 'alert' }, [
      element('strong', {}, [strings.failed]),
      element('p', {}, [reasonOf(strings, code)]),
    ]),
    element('div', { class: 'bp-actions' }, [retry, wait]),
    element('small', {}, [`${strings.reference}: `, element('code', {}, [reference])]),
  ];
  return { panel, retry, wait };
};

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string>} attributes
 * @param {readonly (Node | string)[]} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
const element = (tag, attributes = {}, children = []) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};

const icon = (/** @type {string} */ className, /** @type {string} */ path) => {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('class', className);
  svg.setAttribute('viewBox', '0 0 20 20');
  svg.setAttribute('aria-hidden', 'true');
  const line = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  line.setAttribute('d', path);
  svg.append(line);
  return svg;
};

/** Outside the tab order, as the pattern asks: the keyboard has Escape and Alt+Down. */
const button = (/** @type {string} */ className, /** @type {string} */ label, /** @type {string} */ path) =>
  element('button', { class: className, type: 'button', tabindex: '-1', 'aria-label': label }, [
    icon('', path),
  ]);

const marked = (/** @type {string} */ text, /** @type {readonly Span[]} */ spans) =>
  pieces(text, spans).map((piece) => (piece.marked ? element('mark', {}, [piece.text]) : piece.text));

const skeleton = () =>
  element(
    'div',
    { class: 'bp-skeleton', 'aria-hidden': 'true' },
    Array.from({ length: 5 }, () =>
      element('div', { class: 'bp-option' }, [
        element('span', { class: 'bp-code' }),
        element('span', { class: 'bp-name' }),
      ]),
    ),
  );
