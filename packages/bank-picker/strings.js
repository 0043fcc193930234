/** @typedef {import('./bank-picker.js').BankPickerStrings} Strings */

/** @type {Strings} */
const portuguese = {
  lang: 'pt-BR',
  label: 'Banco',
  placeholder: 'Nome ou código do banco',
  banks: 'Bancos',
  popular: 'Mais procurados',
  others: 'Outros bancos',
  show: 'Mostrar bancos',
  clear: 'Limpar',
  code: 'Código',
  loading: 'Carregando bancos…',
  available: (count) => (count === 1 ? '1 banco disponível' : `${count} bancos disponíveis`),
  found: (count) => (count === 1 ? '1 banco encontrado' : `${count} bancos encontrados`),
  none: 'Nenhum banco encontrado',
  noneHint: 'Confira a grafia ou busque pelo código do banco.',
  until: (year) => `até ${year}`,
  vanished: (bank) => `O banco ${bank} não está na lista. Escolha outro.`,
  selected: (name) => `Banco selecionado: ${name}`,
  required: 'Escolha um banco.',
  incomplete: 'Escolha um banco da lista.',
  unavailable: 'Lista de bancos indisponível',
  failed: 'Não conseguimos carregar os bancos agora.',
  failedHint: 'Tente novamente em instantes.',
  offlineHint: 'Verifique sua conexão e tente novamente.',
  retry: 'Tentar novamente',
  retrying: 'Tentando novamente…',
  retryIn: (seconds) => `Nova tentativa em ${seconds} s`,
  reference: 'Código do erro',
  outdated: (days) => `Lista atualizada há mais de ${days} dias. Bancos novos podem não aparecer.`,
};

/** @type {Strings} */
const english = {
  lang: 'en',
  label: 'Bank',
  placeholder: 'Bank name or code',
  banks: 'Banks',
  popular: 'Popular',
  others: 'Other banks',
  show: 'Show banks',
  clear: 'Clear',
  code: 'Code',
  loading: 'Loading banks…',
  available: (count) => (count === 1 ? '1 bank available' : `${count} banks available`),
  found: (count) => (count === 1 ? '1 bank found' : `${count} banks found`),
  none: 'No bank found',
  noneHint: 'Check the spelling or search by bank code.',
  until: (year) => `until ${year}`,
  vanished: (bank) => `Bank ${bank} is not in the list. Choose another one.`,
  selected: (name) => `Selected bank: ${name}`,
  required: 'Choose a bank.',
  incomplete: 'Choose a bank from the list.',
  unavailable: 'Bank list unavailable',
  failed: 'We couldn’t load the banks just now.',
  failedHint: 'Please try again in a moment.',
  offlineHint: 'Check your connection and try again.',
  retry: 'Try again',
  retrying: 'Trying again…',
  retryIn: (seconds) => `Trying again in ${seconds} s`,
  reference: 'Error code',
  outdated: (days) => `List last updated more than ${days} days ago. New banks may be missing.`,
};

/**
 * The words for a language tag: Portuguese for any `pt`, English for everything else.
 * @param {string} tag
 * @returns {Strings}
 */
export const stringsFor = (tag) => (/^pt\b/i.test(tag) ? portuguese : english);
