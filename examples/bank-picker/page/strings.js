// Every word that people read, in both languages. The Portuguese table is the shape that the English one must have.

const pt = {
  tag: 'pt-BR',
  title: 'Para qual banco?',
  intro: 'Busque pelo nome, pelo código ou pelo ISPB da instituição que vai receber a transferência.',
  languages: 'Idioma',
  label: 'Banco de destino',
  placeholder: 'Ex.: Itaú ou 341',
  hint: 'Digite parte do nome ou os números do código.',
  banks: 'Bancos',
  show: 'Mostrar bancos',
  clear: 'Limpar',
  loading: 'Carregando a lista de bancos…',
  found: (/** @type {number} */ count) =>
    count === 1 ? '1 banco encontrado' : `${count} bancos encontrados`,
  none: 'Nenhum banco encontrado',
  noneHint: 'Confira a grafia ou tente o código de três dígitos.',
  incomplete: 'Escolha um banco da lista para continuar.',
  picked: (/** @type {string} */ bank) => `Selecionado: ${bank}`,
  ready: (/** @type {number} */ count) => `${count} bancos disponíveis`,
  stale: 'Esta lista pode estar desatualizada.',
  staleSince: (/** @type {string} */ time) =>
    `Deveria ter sido renovada ${time}. Você pode escolher normalmente; confira o código e o ISPB.`,
  failed: 'Não foi possível carregar os bancos',
  retry: 'Tentar de novo',
  retrying: 'Tentando…',
  retryIn: (/** @type {number} */ seconds) => `Nova tentativa automática em ${seconds} s`,
  reference: 'Referência',
  reasons: {
    provider_unavailable: 'A fonte da lista está fora do ar neste momento.',
    provider_timeout: 'A fonte da lista não respondeu a tempo.',
    provider_invalid_answer: 'A fonte da lista respondeu com algo que não pode ser usado.',
    no_answer: 'O serviço não respondeu a esta página. Verifique sua conexão.',
    other: 'O serviço teve um problema inesperado.',
  },
  selected: 'Banco selecionado',
  nothing: 'O banco escolhido aparece aqui, como no comprovante da transferência.',
  code: 'Código',
  ispb: 'ISPB',
  name: 'Nome',
  absent: 'não informado',
};

/** @typedef {typeof pt} Strings */

/** @type {Strings} */
const en = {
  tag: 'en',
  title: 'Which bank?',
  intro: 'Search by name, code or ISPB of the institution that will receive the transfer.',
  languages: 'Language',
  label: 'Destination bank',
  placeholder: 'E.g. Itaú or 341',
  hint: 'Type part of the name or the digits of the code.',
  banks: 'Banks',
  show: 'Show banks',
  clear: 'Clear',
  loading: 'Loading the list of banks…',
  found: (count) => (count === 1 ? '1 bank found' : `${count} banks found`),
  none: 'No bank found',
  noneHint: 'Check the spelling or try the three-digit code.',
  incomplete: 'Choose a bank from the list to continue.',
  picked: (bank) => `Selected: ${bank}`,
  ready: (count) => `${count} banks available`,
  stale: 'This list may be out of date.',
  staleSince: (time) =>
    `It should have been renewed ${time}. You can still choose; check the code and the ISPB.`,
  failed: 'The banks could not be loaded',
  retry: 'Try again',
  retrying: 'Trying…',
  retryIn: (seconds) => `Trying again in ${seconds} s`,
  reference: 'Reference',
  reasons: {
    provider_unavailable: 'The source of the list is down at the moment.',
    provider_timeout: 'The source of the list did not answer in time.',
    provider_invalid_answer: 'The source of the list answered with something that cannot be used.',
    no_answer: 'The service did not answer this page. Check your connection.',
    other: 'The service met an unexpected problem.',
  },
  selected: 'Selected bank',
  nothing: 'The bank you choose appears here, as on the transfer’s receipt.',
  code: 'Code',
  ispb: 'ISPB',
  name: 'Name',
  absent: 'not given',
};

/**
 * The table for a language tag: Portuguese for any `pt`, English for everything else.
 * @param {string} tag
 * @returns {Strings}
 */
export const stringsFor = (tag) => (/^pt\b/i.test(tag) ? pt : en);

/**
 * Why a load failed, for people.
 * @param {Strings} strings
 * @param {string} code
 * @returns {string}
 */
export const reasonOf = ({ reasons }, code) => new Map(Object.entries(reasons)).get(code) ?? reasons.other;

/** `há 2 minutos`, `2 minutes ago`: in the largest unit that has come full. */
export const timeAgo = (/** @type {Strings} */ { tag }, /** @type {number} */ seconds) => {
  const format = new Intl.RelativeTimeFormat(tag, { numeric: 'always' });
  if (seconds < 60) return format.format(-Math.round(seconds), 'second');
  if (seconds < 3_600) return format.format(-Math.floor(seconds / 60), 'minute');
  if (seconds < 86_400) return format.format(-Math.floor(seconds / 3_600), 'hour');
  return format.format(-Math.floor(seconds / 86_400), 'day');
};
