import { errorsIn, soundOf } from './spelling.js';

// Words that are in many names, or around them, and so say little about which bank is meant.

const setOf = (/** @type {string} */ words) => new Set(words.trim().split(/\s+/));

/** Words that many names have, and that people add or leave out. */
export const EMPTY = setOf(`
  banco bancos bco bank do da de dos das e a o s sa ltda ip bm brasileiro multiplo estado est instituicao
  em liquidacao extrajudicial scd cfi scfi sep scm scmepp ctvm cctvm ccvm cvm cvmc cvc dtvm cc scc
`);

/** What a bank is: never required, but who is something else is less what the query names. */
export const KINDS = setOf(`
  pagamento pagamentos financeira financiamento financiamentos investimento investimentos corretora corretoras
  distribuidora titulos valores mobiliarios cambio consignado direto digital
`);

/** What people write around a name. */
export const ABOUT = setOf(`
  ispb codigo cod compe numero num nr n no cnpj conta corrente poupanca salario carteira cartao cartoes maquininha
  emprestimo fatura pix ted doc chave agencia ag app site www com servicos credito sociedade companhia cia grupo
  sistema cooperativa cooperativas cooperativo central inc empresa empresas pj pf mei pessoa fisica juridica meu minha
  para pra transferir transferencia deposito
`);

/** The list abbreviates what people write out; both find it. The first form is the usual one. */
export const LONG_FORMS = new Map(
  Object.entries({
    bco: ['banco'],
    br: ['brasil'],
    bm: ['banco', 'multiplo'],
    bi: ['investimento', 'investimentos'],
    cc: ['cambio', 'corretora'],
    scc: ['cambio', 'corretora'],
    ccr: ['cooperativa', 'credito', 'rural'],
    cctvm: ['corretora', 'cambio', 'titulos', 'valores', 'mobiliarios'],
    ctvm: ['corretora', 'titulos', 'valores', 'mobiliarios'],
    cvm: ['corretora', 'valores', 'mobiliarios'],
    cvmc: ['corretora', 'cambio', 'valores', 'mobiliarios'],
    cfi: ['financeira'],
    scfi: ['financeira'],
    cia: ['companhia'],
    consig: ['consignado'],
    coop: ['cooperativa'],
    cor: ['corretora'],
    cred: ['credito'],
    dtvm: ['distribuidora', 'corretora', 'titulos', 'valores', 'mobiliarios'],
    est: ['estado'],
    fdo: ['fundo'],
    finan: ['financeira'],
    financ: ['financiamentos', 'financeira'],
    inv: ['investimento', 'investimentos'],
    ip: ['pagamentos', 'pagamento', 'instituicao'],
    poup: ['poupanca'],
    scd: ['credito', 'direto', 'sociedade'],
    serv: ['servidores', 'servicos'],
  }),
);

/** "banko" is empty, too. */
const EMPTY_SOUNDS = new Set([...EMPTY].filter((word) => word.length > 3).map(soundOf));
export const isEmpty = (/** @type {string} */ word) =>
  EMPTY.has(word) || EMPTY_SOUNDS.has(soundOf(word));

const BANCO = 'banco';
const BANCO_SOUND = soundOf(BANCO);
const isNear = (/** @type {string} */ word, /** @type {string} */ other) =>
  errorsIn(word, other, 1).whole <= 1;
export const isAlmostBanco = (/** @type {string} */ word) =>
  isNear(word, BANCO) || isNear(soundOf(word), BANCO_SOUND);
