import { mountBankPicker } from './bank-picker.js';
import { stringsFor } from './strings.js';

// The page around the picker: which language, where the service is, and the bank as a transfer's form would hold it.

const picker = elementById('bank');
const strings = stringsFor(
  new URLSearchParams(location.search).get('lang') ?? (picker.lang || navigator.language),
);

document.documentElement.lang = strings.tag;
document.title = strings.title;
for (const node of document.querySelectorAll('[data-text]')) {
  const text = new Map(Object.entries(strings)).get(node.getAttribute('data-text') ?? '');
  if (typeof text === 'string') node.textContent = text;
}
elementById('languages').setAttribute('aria-label', strings.languages);
for (const link of document.querySelectorAll('#languages a')) {
  if (stringsFor(link.getAttribute('hreflang') ?? '') === strings) link.setAttribute('aria-current', 'true');
}

mountBankPicker(picker, {
  banksUrl: picker.dataset['banksUrl'] ?? '/banks',
  strings,
  onChange: (bank) => {
    elementById('nothing').hidden = bank !== undefined;
    elementById('details').hidden = bank === undefined;
    for (const field of /** @type {const} */ (['code', 'ispb', 'name'])) {
      elementById(`bank-${field}`).textContent = bank?.[field] || strings.absent;
    }
  },
});

function elementById(/** @type {string} */ id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found;
}
