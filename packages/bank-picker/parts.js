import { initialsOf, pieces } from './marks.js';
import { ispbOf } from './search.js';

// What the picker is made of: elements with their roles and relations, and no behaviour. Every text becomes a text
// node, so nothing that the network sends can be markup, and pages may require Trusted Types.

/**
 * @typedef {import('./bank-picker.js').BankPickerStrings} Strings
 * @typedef {import('./search.js').Hit} Hit
 * @typedef {import('./search.js').Span} Span
 * @typedef {ReturnType<typeof createParts>} Parts
 */

/** Fills a shadow root and gives the parts that change. They have no words yet. */
export const createParts = (/** @type {ShadowRoot} */ shadow) => {
  const label = element('label', { for: 'input', part: 'label', hidden: '' });
  const input = element('input', {
    id: 'input',
    part: 'input',
    type: 'text',
    role: 'combobox',
    'aria-autocomplete': 'list',
    'aria-expanded': 'false',
    'aria-controls': 'list',
    autocomplete: 'off',
    autocapitalize: 'none',
    spellcheck: 'false',
    enterkeyhint: 'done',
    maxlength: '160',
  });
  const clear = button('clear', 'm6 6 8 8m0-8-8 8');
  const show = button('show', 'm5 7.5 5 5 5-5');
  show.setAttribute('aria-controls', 'list');
  const field = element('div', { class: 'field', part: 'field' }, [
    icon('lens', 'M9 15A6 6 0 1 0 9 3a6 6 0 0 0 0 12Zm4.5-1.5L17 17'),
    input,
    clear,
    show,
  ]);

  const count = element('p', { class: 'count', 'aria-hidden': 'true' });
  const list = element('div', { id: 'list', class: 'list', part: 'list', role: 'listbox' });
  const none = element('strong');
  const noneHint = element('span');
  const nothing = element('div', { class: 'none' }, [none, noneHint]);
  // In the top layer, where no ancestor's overflow, transform or z-index reaches it.
  const popup = element('div', { class: 'popup', part: 'popup', popover: 'manual', role: 'none' }, [
    count,
    list,
    nothing,
  ]);

  const help = element('p', { id: 'help', class: 'help', part: 'help', hidden: '' });
  const note = element('p', { id: 'note', class: 'note', part: 'note' });
  const outdated = element('p', { id: 'outdated', class: 'outdated', part: 'warning', hidden: '' });
  const failed = element('strong');
  const failedHint = element('span');
  const retry = element('button', { class: 'retry', part: 'retry', type: 'button' });
  const wait = element('span', { class: 'wait' });
  const reference = element('p', { class: 'reference' });
  // Not the whole panel: its countdown would be read out every second.
  const message = element('p', { id: 'failed', role: 'alert' });
  const failure = element('div', { class: 'failure', part: 'failure', hidden: '' }, [
    message,
    element('div', { class: 'actions' }, [retry, wait]),
    reference,
  ]);
  const live = element('p', { class: 'live', role: 'status' });
  const root = element('div', { class: 'root' }, [
    label,
    help,
    field,
    note,
    failure,
    outdated,
    popup,
    live,
  ]);
  shadow.append(root);

  return {
    root,
    label,
    input,
    clear,
    show,
    field,
    popup,
    count,
    list,
    none,
    noneHint,
    nothing,
    help,
    note,
    outdated,
    failure,
    message,
    failed,
    failedHint,
    retry,
    wait,
    reference,
    live,
  };
};

/**
 * @param {Hit} hit
 * @param {{ id: string, position: number, total: number, isChosen: boolean }} place `position` counts from 1
 * @param {Strings | undefined} strings
 */
export const createOption = ({ bank, explain }, { id, position, total, isChosen }, strings) => {
  const { brand, until, marks } = explain();
  const ispb = ispbOf(bank);
  const years =
    until && strings ? [' ', element('span', { class: 'until' }, [strings.until(until)])] : [];
  return element(
    'div',
    {
      id,
      class: isChosen ? 'option chosen' : 'option',
      part: 'option',
      role: 'option',
      'aria-selected': 'false',
      'aria-posinset': String(position),
      'aria-setsize': String(total),
    },
    [
      ...(bank.logo === undefined ? [] : [createLogo(bank.logo, brand || bank.name)]),
      element('div', { class: 'name' }, [
        ...(brand
          ? [element('bdi', { class: 'brand' }, [...marked(brand, marks.brand), ...years]), ' ']
          : []),
        element('bdi', {}, marked(bank.name, marks.name)),
      ]),
      ' ',
      element('div', { class: 'numbers' }, [
        element('span', { class: 'code' }, marked(bank.code, marks.code)),
        ' ',
        element('span', {}, isIspb(ispb) ? ['ISPB ', ...marked(ispb, marks.ispb)] : []),
      ]),
    ],
  );
};

/**
 * A box of a fixed size with initials, which the logo covers once it is loaded.
 * @param {string} url '' for none
 * @param {string} name
 */
const createLogo = (url, name) => {
  const logo = element('span', {
    class: 'logo',
    part: 'logo',
    'aria-hidden': 'true',
    'data-initials': initialsOf(name),
  });
  if (url === '') return logo;
  const image = element('img', {
    alt: '',
    loading: 'lazy',
    referrerpolicy: 'no-referrer',
  });
  image.addEventListener('load', () => image.classList.add('loaded'));
  // Browsers draw a sign of their own in place of a broken image.
  image.addEventListener('error', () => image.remove());
  image.src = url;
  logo.append(image);
  return logo;
};

/**
 * A part of the list with a heading.
 * @param {string} id
 * @param {string} title
 */
export const createGroup = (id, title) =>
  element('div', { class: 'group', role: 'group', 'aria-labelledby': id }, [
    element('div', { id, class: 'heading', part: 'heading', role: 'presentation' }, [title]),
  ]);

/** A list without ISPBs has ids of another kind, which are of no use to people. */
export const isIspb = (/** @type {string} */ id) => /^\d{8}$/.test(id);

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

/** Outside the tab order, as the pattern asks: the keyboard has Escape, Delete and Alt+Down. */
const button = (/** @type {string} */ name, /** @type {string} */ path) =>
  element(
    'button',
    { class: `icon ${name}`, part: `button ${name}`, type: 'button', tabindex: '-1' },
    [icon('', path)],
  );

const marked = (/** @type {string} */ text, /** @type {readonly Span[]} */ spans) =>
  pieces(text, spans).map((piece) =>
    piece.marked ? element('mark', {}, [piece.text]) : piece.text,
  );
