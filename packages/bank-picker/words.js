// Words that say little about which bank is meant.

const setOf = (/** @type {string} */ words) => new Set(words.trim().split(/\s+/));

/** Words that many names have, and that people add or leave out. */
export const EMPTY = setOf(`
  banco bancos bco bank do da de dos das e a o s sa ltda ip bm brasileiro multiplo estado est instituicao
  em liquidacao extrajudicial scd cfi scfi sep scm scmepp ctvm cctvm ccvm cvm cvmc cvc dtvm cc scc
`);

/** The same, what a bank is, and what people write around a name. */
export const COMMON = new Set([
  ...EMPTY,
  ...setOf(`
    pagamento pagamentos financeira financiamento financiamentos investimento investimentos corretora corretoras
    distribuidora titulos valores mobiliarios cambio consignado direto digital
    ispb codigo cod compe numero num nr n no cnpj conta corrente poupanca salario carteira cartao cartoes maquininha
    emprestimo fatura pix ted doc chave agencia ag app site www com servicos credito sociedade companhia cia grupo
    sistema cooperativa cooperativas cooperativo central inc empresa empresas pj pf mei pessoa fisica juridica meu minha
    para pra transferir transferencia deposito
  `),
]);
