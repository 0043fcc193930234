import { soundOf } from './spelling.js';

// Words that are in many names, or around them, and so say little about which bank is meant.

/** Words of which names have many, and which people add or leave out. */
export const EMPTY = new Set(
  `banco bancos bco bank do da de dos das e a o s sa ltda ip bm brasileiro multiplo cooperativo estado est
   instituicao    scd cfi scfi sep scm scmepp ctvm cctvm ccvm cvm cvc dtvm cc scc`.split(/\s+/),
);

/** What a bank is: never required, but who is something else is less what the query names. */
export const KINDS = new Set(
  `pagamento pagamentos financeira financiamento financiamentos investimento investimentos corretora corretoras
   distribuidora cambio credito consignado digital sociedade cooperativa cooperativas central companhia cia
   `.split(/\s+/),
);

/** What people write around a name. */
export const ABOUT = new Set(
  `ispb codigo cod compe numero num nr n no cnpj conta corrente poupanca cartao pix ted doc chave agencia ag app site
   www com`.split(/\s+/),
);

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
    cctvm: ['corretora', 'cambio'],
    ctvm: ['corretora'],
    cvm: ['corretora'],
    cfi: ['financeira'],
    scfi: ['financeira'],
    cia: ['companhia'],
    consig: ['consignado'],
    coop: ['cooperativa'],
    cor: ['corretora'],
    cred: ['credito'],
    dtvm: ['distribuidora', 'corretora'],
    est: ['estado'],
    fdo: ['fundo'],
    finan: ['financeira'],
    financ: ['financiamentos', 'financeira'],
    inv: ['investimento', 'investimentos'],
    ip: ['pagamentos', 'pagamento', 'instituicao'],
    poup: ['poupanca'],
    serv: ['servidores', 'servicos'],
  }),
);

/** "banko" is empty, too. */
const EMPTY_SOUNDS = new Set([...EMPTY].filter((word) => word.length > 3).map(soundOf));
export const isEmpty = (/** @type {string} */ word) => EMPTY.has(word) || EMPTY_SOUNDS.has(soundOf(word));
