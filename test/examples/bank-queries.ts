// What people type, and the bank that they mean. A line is the code of the bank that must come first, a name for the
// reader, and the queries. `FIRST_THREE` is for what is too short for one answer.

/** By why the bank is expected. */
export const FIRST: Readonly<Record<string, string>> = {
  'people say the brand, the list has the company': `
    260 Nubank: nubank, nu bank, nu, nub, NUBANK, Nubank , banco nubank, o nubank, nu pagamentos, roxinho, nuconta
    140 Nu Invest: nu invest, nuinvest, nubank investimentos, nu investimentos
    341 Itaú: itau, itaú, ITAÚ, Banco Itaú, banco itau, bco itau, itau unibanco, unibanco itau, itaú unibanco s.a., personnalite, personnalité, uniclass, itau uniclass, itau personnalite
    184 Itaú BBA: itau bba, itaú bba, bba
    029 Itaú Consignado: itau consignado, banco itau consignado
    652 Itaú Holding: itau unibanco holding, itau holding
    104 Caixa: caixa, caixa economica, caixa econômica federal, cef, caixa tem, cx, cx economica, cx. economica federal, caixa federal, caixa econ, a caixa, CAIXA ECONOMICA FEDERAL
    237 Bradesco: bradesco, banco bradesco, bco bradesco, Bradesco S.A., brad, next, banco next, bradesco next, bradesco prime
    036 Bradesco BBI: bradesco bbi, bbi
    394 Bradesco Financiamentos: bradesco financiamentos, bradesco financ
    001 Banco do Brasil: bb, BB, banco do brasil, Banco Do Brasil, brasil, do brasil, bco do brasil, banco brasil, bco brasil, b. brasil, banco do brasil s/a, banco do brasil sa, b b, ourocard
    033 Santander: santander, banco santander, santander brasil, sant, santander s.a., banco santander brasil
    077 Inter: inter, banco inter, int, inter&co, inter & co, inter co, laranjinha, banco inter sa
    323 Mercado Pago: mercado pago, mercadopago, mercado, mercado livre, mercadolivre, meli, mp, MERCADO PAGO, conta mercado pago
    380 PicPay: picpay, pic pay, PicPay, pic, conta picpay
    079 PicPay Bank: picpay bank
    336 C6: c6, c6 bank, banco c6, c 6, C6BANK, c6 banco
    626 C6 Consignado: c6 consignado, c6 consig, banco c6 consignado
    290 PagBank: pagbank, pag bank, pagseguro, pag seguro, pagseguro internet, uol, PAGSEGURO UOL, moderninha
    756 Sicoob: sicoob, banco sicoob, sicoob sistema
    748 Sicredi: sicredi, banco sicredi, cooperativa sicredi, banco cooperativo sicredi
    085 Ailos: ailos, viacredi, cooperativa ailos, via credi, transpocred, civia
    136 Unicred: unicred, unicred do brasil, cooperativa unicred
    133 Cresol: cresol, cooperativa cresol, cresol confederacao
    208 BTG: btg, btg pactual, banco btg, btg+, pactual
    623 Pan: pan, banco pan, bco pan
    422 Safra: safra, banco safra, safrapay
    074 J. Safra: j safra, j.safra, jsafra
    041 Banrisul: banrisul, banco do estado do rio grande do sul, vero, banco banrisul
    004 Banco do Nordeste: banco do nordeste, nordeste, bnb, bco nordeste, banco nordeste
    003 Banco da Amazônia: banco da amazonia, amazônia, basa, banco amazonia
    070 BRB: brb, banco de brasilia, banco de brasília, nacao brb fla
    021 Banestes: banestes, banco do estado do espirito santo
    037 Banpará: banpara, banpará, banco do para, banco do estado do para
    047 Banese: banese, banco de sergipe, banco do estado de sergipe
    348 XP: xp, banco xp
    102 XP Investimentos: xp investimentos, rico, clear, rico investimentos, clear corretora, xp corretora
    536 Neon: neon, banco neon, neon pagamentos
    426 Neon Financeira: neon financeira
    197 Stone: stone, ton, stone pagamentos, stone ip, pagar.me, pagarme
    212 Original: original, banco original
    121 Agibank: agibank, agi bank, agi, banco agibank
    318 BMG: bmg, banco bmg
    413 BV: bv, banco bv, bv financeira
    655 Votorantim: votorantim, banco votorantim
    707 Daycoval: daycoval, banco daycoval
    389 Mercantil: mercantil, mercantil do brasil, banco mercantil, bmb
    335 Digio: digio, banco digio
    637 Sofisa: sofisa, sofisa direto
    746 Modal: modal, banco modal, modalmais, modal mais
    218 BS2: bs2, bs 2, banco bs2
    330 Bari: bari, banco bari
    254 Paraná Banco: parana banco, paraná banco, banco parana
    069 Crefisa: crefisa, banco crefisa
    280 Will: will, will bank, willbank
    403 Cora: cora, banco cora, conta cora
    364 Efí: efi, efí, efi bank, efí bank
    461 Asaas: asaas, banco asaas
    542 InfinitePay: infinitepay, infinite pay, cloudwalk, cloud walk
    404 SumUp: sumup, sum up, sumup bank
    703 Getnet: getnet, get net
    362 Cielo: cielo
    396 MagaluPay: magalu, magalupay, magalu pay, magazine luiza
    595 iFood: ifood, ifood pago
    769 99Pay: 99pay, 99 pay
    675 Casas Bahia: casas bahia, banqi
    620 Revolut: revolut
    694 Woovi: woovi, openpix
    023 Conta Simples: conta simples, contasimples
    401 iugu: iugu
    775 ContaAzul: contaazul, conta azul
    368 Carrefour: carrefour, banco carrefour, csf
    062 Hipercard: hipercard
    374 Realize: realize, renner, lojas renner
    358 Midway: midway, riachuelo
    174 Pefisa: pefisa, pernambucanas
    468 Porto: porto seguro, porto bank, portoseg
    634 Tribanco: tribanco, triangulo, banco triangulo, triângulo
    025 Alfa: alfa, banco alfa
    643 Pine: pine, banco pine
    633 Rendimento: rendimento, banco rendimento
    082 Topázio: topazio, banco topázio
    224 Fibra: fibra, banco fibra
    246 ABC: abc, abc brasil, banco abc
    743 Semear: semear, banco semear
    613 Omni: omni, banco omni, omni banco
    299 Afinz: afinz
    125 Genial: genial, banco genial
    278 Genial Investimentos: genial investimentos, genial corretora
    371 Warren: warren
    340 Superdigital: superdigital, super digital
    332 Bankly: bankly, acesso, acesso bank, meliuz
    301 Dock: dock
    326 meutudo: meutudo, meu tudo
    390 GM: banco gm, gm, chevrolet, general motors
    393 Volkswagen: volkswagen, banco volkswagen, volks
    387 Toyota: toyota, banco toyota
    381 Mercedes-Benz: mercedes, mercedes benz, mercedes-benz
    120 Rodobens: rodobens
    088 Randon: randon
    276 Senff: senff
    213 Arbi: arbi
    741 Ribeirão Preto: ribeirao preto, brp
    604 Industrial: industrial, banco industrial, bib
    611 Paulista: paulista, banco paulista
    654 Digimais: digimais, digi mais
    412 Social Bank: social bank
    342 Creditas: creditas
    329 QI: qi scd, qi tech
    531 BMP: bmp scd
    383 EBANX: ebanx
    509 Celcoin: celcoin
    576 Mercado Bitcoin: mercado bitcoin
    773 Kiwify: kiwify
    593 Transfeera: transfeera
    665 Stark: stark bank
    379 Cooperforte: cooperforte
    099 Uniprime: uniprime
    084 Sisprime: sisprime
    097 Credisis: credisis
    541 FGC: fgc, fundo garantidor de creditos
    007 BNDES: bndes
    352 Santander Corretora: santander corretora, toro, toro investimentos`,

  'banks from abroad': `
    269 HSBC: hsbc
    745 Citibank: citibank, citi, banco citibank
    752 BNP: bnp, bnp paribas, banco bnp
    376 J.P. Morgan: jp morgan, j.p. morgan, jpmorgan brasil
    066 Morgan Stanley: morgan stanley
    064 Goldman Sachs: goldman, goldman sachs
    755 Bank of America: bank of america, bofa, merrill lynch
    487 Deutsche: deutsche, deutsche bank, banco alemao
    366 Société Générale: societe generale, société générale, socgen
    222 Crédit Agricole: credit agricole, crédit agricole
    464 Sumitomo: sumitomo, sumitomo mitsui, smbc
    456 MUFG: mufg
    370 Mizuho: mizuho
    751 Scotiabank: scotiabank, scotia
    747 Rabobank: rabobank
    132 ICBC: icbc
    505 UBS: ubs brasil, banco ubs
    492 ING: ing, ing bank
    496 BBVA: bbva
    119 Western Union: western union
    163 Commerzbank: commerzbank
    012 Inbursa: inbursa
    065 AndBank: andbank
    139 Intesa: intesa sanpaolo`,

  'one is in the middle of a word': `
    237 Bradesco: bra, brade, brades
    341 Itaú: ita
    104 Caixa: cai, caix
    033 Santander: san, santa, santan
    623 Pan: banco pa
    380 PicPay: picp
    323 Mercado Pago: mercado p, mercadop, mercado pag
    290 PagBank: pag, pagb, pagse
    136 Unicred: uni
    001 Banco do Brasil: banco do b, banco do br, banco do bras, bancodob
    077 Inter: inte, banco int
    260 Nubank: nuba
    208 BTG: btg p, btg pac
    756 Sicoob: sico
    748 Sicredi: sicr`,

  'a number: code, ISPB or CNPJ': `
    001 Banco do Brasil: 001, 1, 01, 0001, 00000000, banco 001, 001 - Banco do Brasil, 00.000.000/0001-91, codigo 1, cod 001, 001-9, 00.000.000
    033 Santander: 033, 33, 0033, 90400888, 90.400.888, 033 santander, codigo 33, 033-7, 90400888000142
    041 Banrisul: 041, 41, 92702067
    070 BRB: 070, 70, 00000208, 00.000.208
    077 Inter: 077, 77, 0077, 00416968, 416968, 00.416.968/0001-01, 077 inter, banco 077, inter 77, 00.416.968
    085 Ailos: 085, 85, 05463212, 5463212
    104 Caixa: 104, 0104, 00360305, 360305, codigo 104, caixa 104, 00.360.305/0001-04, 360305000104, 104-0
    208 BTG: 208, 30306294, 30.306.294
    212 Original: 212, 92894922
    237 Bradesco: 237, 0237, 60746948, 60.746.948/0001-12, bradesco 237, 237-2, código: 237
    260 Nubank: 260, 0260, 00260, 18236120, ispb 18236120, codigo 260, código 260, cod. 260, nubank 260, 260 nubank, 18.236.120/0001-58, 18.236.120, 18236, 18 236 120, ispb: 18.236.120, Nubank (260), numero 260, nº 260, banco 260, cnpj 18.236.120/0001-58, 18.236.120/0001
    290 PagBank: 290, 08561701, 8561701, 08.561.701
    318 BMG: 318
    323 Mercado Pago: 323, 10573521, ispb 10573521
    336 C6: 336, 31872495, 31.872.495
    341 Itaú: 341, 341 itau, itau 341, 60701190, 60.701.190/0001-04, 60.701.190, 341-7, ITAU - 341, 341 - itaú unibanco, 341/60701190, 341-60701190, #341, 60701190/0001-04
    380 PicPay: 380, 22896431
    389 Mercantil: 389
    403 Cora: 403
    422 Safra: 422
    461 Asaas: 461
    536 Neon: 536
    623 Pan: 623
    655 Votorantim: 655
    707 Daycoval: 707
    260 Nubank: nubank 735
    748 Sicredi: 748, 01181521, 1181521, 748 sicredi
    756 Sicoob: 756, 02038232, 2038232, sicoob 756, 756-0
    004 Banco do Nordeste: 004, 4, 07237373
    025 Alfa: 25, 025
    082 Topázio: 82, 082`,

  'a word too many': `
    260 Nubank: nubank sa, nubank conta digital, nubank brasil, pix nubank, nubank pagamentos, cartao nubank, www.nubank.com.br, nubank roxo, conta corrente nubank, nubank instituicao de pagamento, banco digital nubank
    197 Stone: stone pagamentos, stone instituicao de pagamento, stone maquininha
    748 Sicredi: sicredi pioneira, sicredi uniao, sicredi vale do piquiri, sicredi serrana
    756 Sicoob: sicoob credicitrus, sicoob metropolitano, sicoob agencia
    208 BTG: btg pactual digital, btg banking, btg pactual investimentos, banco btg pactual sa
    413 BV: banco bv financeira
    077 Inter: banco inter digital, inter conta digital, inter invest, banco inter brasil
    380 PicPay: picpay original, picpay servicos, picpay carteira
    336 C6: c6 bank brasil, banco c6 s.a., c6 kick, c6 yellow
    341 Itaú: itau agencia 1234, itau personalite, banco itau brasil, itau select, itaú empresas
    104 Caixa: caixa lotericas, caixa economica do brasil, caixa conta poupanca, caixa aqui
    237 Bradesco: bradesco exclusive, banco bradesco brasil, bradesco seguros
    033 Santander: santander select, santander van gogh, banco santander digital
    001 Banco do Brasil: banco do brasil estilo, banco do brasil conta corrente, bb digital, bb estilo
    323 Mercado Pago: mercado pago brasil, mercado pago conta, mercado pago cartao
    290 PagBank: pagbank uol conta digital, pagseguro maquininha
    748 Sicredi: banco sicredi cooperativa pioneira rs
    136 Unicred: unicred porto alegre
    707 Daycoval: daycoval consignado
    623 Pan: banco pan digital, banco pan consignado
    422 Safra: banco safra digital
    212 Original: banco original digital
    536 Neon: neon conta digital
    707 Daycoval: banco daycoval cambio
    041 Banrisul: banrisul porto alegre`,

  'written as one word, or as two': `
    077 Inter: bancointer, interbank, interbanco
    237 Bradesco: bancobradesco, brad esco, nextbank
    001 Banco do Brasil: bancodobrasil, bancobrasil
    341 Itaú: itauunibanco, bancoitau, itaucard
    033 Santander: bancosantander
    104 Caixa: caixaeconomica, caixaeconomicafederal
    208 BTG: btgpactual
    623 Pan: bancopan
    260 Nubank: nubankbrasil, nubankcartao, n u b a n k
    290 PagBank: pag bank
    422 Safra: bancosafra
    468 Porto: portoseguro
    102 XP Investimentos: xpinvestimentos`,

  'one or two letters wrong': `
    260 Nubank: nubak, nunbank, nubanc, nubanck, nuabnk, nubnak, nobank, noobank, nubanke, nubamk, mubank, nu banc, nu bamk, nubankk, nunank, newbank
    341 Itaú: itua, itaul, iatu, ytau, itaau, itaw, itaú unibamco, itau unibanko, unibamco, itaiu
    104 Caixa: caxia, caicha, caxa, caisha, kaixa, caixxa, caxa economica, caixa ecanomica, caixa economika, caixas, cax economica, caixa econimica federal, cacha economica
    237 Bradesco: bradezco, bradsco, bradeco, braseco, bradesko, bradasco, bradescco, bradescu, bardesco, brandesco, bradresco, brasdesco, bradeso
    001 Banco do Brasil: banco do brazil, banco do brasiu, banco do brsil, banco do brasill, banco dobrasil, bnaco do brasil, banco do barsil, baco do brasil
    033 Santander: satander, santader, santandder, santandr, sanatnder, santanter, santaner, santnder, sntander, santandeer, cantander
    077 Inter: imter, itner, intter, intre, innter, bnco inter, banko inter
    290 PagBank: pagbnak, pagbanck, pagbak, pabank, pagseguo, pagsegruo, pag seguru, pagcegurro, pagssguro
    323 Mercado Pago: mercado pgo, mercdo pago, mercadp pago, marcado pago, mercado pagp, mercadopgo, mercado pgao, mercado libre, mercadu pagu
    380 PicPay: picpai, pikpay, picpey, pickpay, picapay, picpy, pcpay, pic pai, pikpai, picpayy
    336 C6: c6 banck, c6 bnk
    756 Sicoob: sicob, cicoob, sicooob, sicoop, siccob, cicob
    748 Sicredi: sicred, sicreti, cicredi, sicredy, sicreddi, scredi
    208 BTG: btg pactal, btg pactua, btg pactoal, bgt pactual, btg pcatual
    422 Safra: saffra, zafra, safara
    041 Banrisul: banrizul, banrissul, bamrisul, barnisul
    707 Daycoval: dayoval, daicoval, daykoval, deycoval
    655 Votorantim: votorantin, votorantm, votoramtim, votorantium
    121 Agibank: agibamk, agibanc, ajibank, aguibank
    461 Asaas: asas, assas, azaas, asaaas
    389 Mercantil: mercantiu, mercamtil
    021 Banestes: banestis, banests
    037 Banpará: bampara
    254 Paraná Banco: paranabanco
    542 InfinitePay: infinitpay, infinity pay, infinitepai
    212 Original: banco orignal, originau
    335 Digio: dijio, diggio
    069 Crefisa: crefiza, creficsa
    133 Cresol: cressol, crezol
    136 Unicred: unicredi, uniced
    396 MagaluPay: magallu, magalo
    362 Cielo: sielo, ciello
    536 Neon: neom, neonn, nion
    403 Cora: corra
    197 Stone: stoni, istone
    401 iugu: iogu
    623 Pan: banco pam
    637 Sofisa: sofiza, soffisa
    085 Ailos: aylos, ailus
    746 Modal: moda mais, modaumais
    007 BNDES: bndis`,

  'a name that the bank had until some years ago': `
    077 Inter: intermedium, banco intermedium, inter medium
    623 Pan: panamericano, banco panamericano, pan americano, panamericanno
    218 BS2: bonsucesso, banco bonsucesso, bonsuceso
    033 Santander: banco real, real, abn amro real, banespa, sudameris, ole consignado, olé, ole bonsucesso, banco sudameris
    001 Banco do Brasil: nossa caixa, besc, banco nossa caixa, nosa caixa
    237 Bradesco: bamerindus, bcn, hsbc bank brasil
    341 Itaú: unibanco, bankboston, banestado, banerj, bemge
    299 Afinz: sorocred, banco sorocred, sorokred
    121 Agibank: agiplan, gerador, banco gerador, agi plan
    243 Master: maxima, banco maxima, banco máxima
    719 Master Múltiplo: banif
    653 Pleno: voiter, indusval, banco indusval, bi&p
    630 Letsbank: intercap, smartbank, smart bank
    626 C6 Consig: ficsa
    140 Nu Invest: easynvest, easyinvest, easy invest
    364 Efí: gerencianet, gerencia net
    085 Ailos: cecred
    756 Sicoob: bancoob
    063 Bradescard: ibi, banco ibi
    394 Bradesco Financiamentos: finasa bmc
    335 Digio: cbss
    739 Cetelem: cetelem
    654 Digimais: aj renner, a.j. renner
    613 Omni: pecunia
    712 Ouribank: ourinvest
    128 Braza: ms bank
    143 Intex: treviso
    125 Genial: brasil plural, banco plural
    278 Genial Investimentos: geracao futuro
    107 Bocom: bbm
    078 Haitong: bes investimento
    370 Mizuho: westlb
    505 UBS: credit suisse
    320 Bank of China: bicbanco, bic banco, china construction bank, ccb
    012 Inbursa: standard bank
    222 Crédit Agricole: calyon
    250 BMG Consignado: bcv, schahin
    233 BMG Soluções: cifra
    096 B3: bmfbovespa, bm&fbovespa
    177 Safra CTVM: guide, guide investimentos
    363 QI CTVM: singulare, socopa
    101 Warren Rena: renascenca
    354 Necton: concordia, spinelli
    528 CBSF: reag
    173 Apex: brl trust
    396 MagaluPay: hub fintech
    301 Dock: conductor
    595 iFood: zoop
    340 Superdigital: contasuper, conta super
    450 Fits: fitbank
    280 Will: avista
    390 GM: gmac
    334 BESA: banco economico
    065 AndBank: lemon bank, bracce
    330 Bari: barigui`,
};

/** These must be among the first three. */
export const FIRST_THREE: Readonly<Record<string, string>> = {
  'one or two letters begin the well-known names': `
    341 Itaú: i, it
    077 Inter: i, in
    033 Santander: s, sa
    422 Safra: sa
    260 Nubank: n, nu
    004 Banco do Nordeste: n, no
    536 Neon: n, ne
    104 Caixa: c, ca
    336 C6: c
    380 PicPay: p, pi
    290 PagBank: p, pa
    623 Pan: p, pa
    237 Bradesco: b, br
    001 Banco do Brasil: b, ba, br, bb
    323 Mercado Pago: m, me
    389 Mercantil: me
    756 Sicoob: si, s
    748 Sicredi: si
    208 BTG: bt, b
    348 XP: x, xp
    121 Agibank: a, ag
    461 Asaas: as
    542 InfinitePay: in
    655 Votorantim: v, vo
    413 BV: bv
    707 Daycoval: d, da
    335 Digio: d, di
    197 Stone: st
    620 Revolut: r, re
    403 Cora: co
    136 Unicred: u, un
    364 Efí: e, ef
    703 Getnet: g, ge
    212 Original: o, or
    269 HSBC: h, hs
    318 BMG: bm
    413 BV: bv
    218 BS2: bs`,

  'the old name of a bank that another company took over in part': `
    399 Kirton: hsbc, hsbc bank brasil
    237 Bradesco: hsbc
    479 ItauBank: bankboston
    029 Itaú Consignado: banerj
    655 Votorantim: bv
    754 Banco Sistema: bamerindus
    144 Ebury: bexs`,

  'the first hit is another bank of that name': `
    386 Nu Financeira: nu, nu financeira
    769 99Pay: 99
    655 Votorantim: bv, banco bv
    243 Master: master, banco master
    036 Bradesco BBI: bradesco`,
};
