// The page around the picker, as any site might write it: a form with one field, and what the form would send.

const TEXTS = {
  'pt-BR': {
    title: 'Para qual banco?',
    intro: 'Busque pelo nome ou pelo código da instituição que vai receber a transferência.',
    languages: 'Idioma',
    label: 'Banco de destino',
    next: 'Continuar',
    heading: 'Transferência para',
    name: 'Instituição',
    code: 'Código',
    absent: 'sem código',
  },
  en: {
    title: 'Which bank?',
    intro: 'Search by name or code of the institution that will receive the transfer.',
    languages: 'Language',
    label: 'Destination bank',
    next: 'Continue',
    heading: 'Transfer to',
    name: 'Institution',
    code: 'Code',
    absent: 'no code',
  },
};

const asked = new URLSearchParams(location.search).get('lang') ?? navigator.language;
const lang = /^pt\b/i.test(asked) ? 'pt-BR' : 'en';
const texts = TEXTS[lang];
const form = find('#transfer', HTMLFormElement);
const picker = document.querySelector('bank-picker');
if (!picker) throw new Error('the page has no bank-picker');
const receipt = find('.receipt', HTMLElement);

document.documentElement.lang = lang;
document.title = texts.title;
for (const node of document.querySelectorAll('[data-text]')) {
  node.textContent = new Map(Object.entries(texts)).get(node.getAttribute('data-text') ?? '') ?? '';
}
picker.label = texts.label;
find('#languages', HTMLElement).setAttribute('aria-label', texts.languages);
document.querySelector(`#languages [hreflang=${lang}]`)?.setAttribute('aria-current', 'true');

picker.addEventListener('input', () => (receipt.hidden = true));
form.addEventListener('submit', (event) => {
  event.preventDefault();
  const { bank } = picker;
  if (!bank || new FormData(form).get('bank') !== bank.ispb) return;
  find('#name', HTMLElement).textContent = bank.name ?? '';
  find('#code', HTMLElement).textContent = bank.code || texts.absent;
  find('#ispb', HTMLElement).textContent = bank.ispb ?? '';
  receipt.hidden = false;
});

/**
 * @template {HTMLElement} Type
 * @param {string} selector
 * @param {new () => Type} type
 * @returns {Type}
 */
function find(selector, type) {
  const found = document.querySelector(selector);
  if (!(found instanceof type)) throw new Error(`the page has no ${selector}`);
  return found;
}
