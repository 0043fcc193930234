// The names that people use, by ISPB: in the lists of the Central Bank, Nubank is NU PAGAMENTOS - IP.

/**
 * @param {string} table a row for each bank: its ISPB, and names separated by commas
 * @returns {readonly (readonly [ispb: string, names: readonly string[]])[]}
 */
const rowsOf = (table) =>
  table
    .trim()
    .split(/\n\s*(?=\d{8} )/)
    .map((row) => [row.slice(0, 8), row.slice(9).split(/,\s+/)]);

/**
 * The brand, and other names of it. The search ignores case, accents, spaces and "banco". The rows are in the order in
 * which equally good hits are shown; the first `POPULAR` of them are offered while the field is empty.
 */
export const BRANDS = rowsOf(`
  18236120 Nubank, Nuconta, Roxinho
  60701190 Itaú, iti, Íon, Personnalité, Uniclass, Rede, Redecard, Credicard, Luizacred
  00360305 Caixa, Caixa Econômica, CEF, CX, Caixa Tem
  60746948 Bradesco, Next, Bradesco Prime, Bitz, Losango
  00000000 Banco do Brasil, BB, Ourocard
  90400888 Santander
  00416968 Inter, Inter&Co, Laranjinha
  10573521 Mercado Pago, Mercado Livre, Meli, MP
  22896431 PicPay
  31872495 C6 Bank
  08561701 PagBank, PagSeguro, UOL, Moderninha
  02038232 Sicoob
  01181521 Sicredi
  30306294 BTG Pactual, BTG+
  59285411 Pan
  58160789 Safra, SafraPay
  92702067 Banrisul, Banco do Estado do Rio Grande do Sul, Vero
  07237373 Banco do Nordeste, BNB
  04902979 Banco da Amazônia, BASA
  00000208 BRB, Banco de Brasília, Nação BRB Fla
  28127603 Banestes, Banco do Estado do Espírito Santo
  04913711 Banpará, Banco do Estado do Pará
  13009717 Banese, Banco do Estado de Sergipe
  33264668 XP
  02332886 XP Investimentos, Rico, Clear
  20855875 Neon
  16501555 Stone, Ton, Pagar.me
  92894922 Original
  10664513 Agibank, Agi
  61186680 BMG
  01858774 BV, BV Financeira
  59588111 Votorantim, BV
  62232889 Daycoval
  17184037 Mercantil, BMB
  27098060 Digio
  60889128 Sofisa, Sofisa Direto
  30723886 Modal, Modalmais
  71027866 BS2
  00556603 Bari, Barigui
  14388334 Paraná Banco
  61033106 Crefisa
  05463212 Ailos, Viacredi, Acredicoop, Civia, Credcrea, Credelesc, Credifoz, Crevisc, Evolua,
    Transpocred, Únilos
  00315557 Unicred
  10398952 Cresol
  23862762 Will Bank, Will
  37880206 Cora
  09089356 Efí, Efi Bank
  19540550 Asaas
  18189547 InfinitePay
  37241230 SumUp
  10440482 Getnet
  01027058 Cielo
  13884775 MagaluPay, Magalu, Magazine Luiza
  19468242 iFood Pago
  24313102 99Pay
  30723871 Casas Bahia, banQi
  51342763 Revolut
  54811417 Woovi, OpenPix
  53720128 Conta Simples
  15111975 iugu
  62169875 Nu Invest, Nubank Investimentos
  06271464 Bradesco BBI
  17298092 Itaú BBA
  08357240 Banco Carrefour, Cartão Carrefour, Atacadão
  09464032 Midway, Riachuelo
  27351731 Realize, Renner
  43180355 Pefisa, Pernambucanas
  04862600 Porto Bank, Porto Seguro
  17351180 Tribanco, Martins
  03323840 Alfa
  62144175 Pine
  68900810 Rendimento
  07679404 Topázio
  58616418 Fibra
  28195667 ABC Brasil
  00795423 Semear
  60850229 Omni
  04814563 Afinz
  45246410 Genial
  27652684 Genial Investimentos
  92875780 Warren
  29162769 Santander Corretora
  09554480 Superdigital
  13140088 Bankly, Acesso Bank, Méliuz
  13370835 Dock
  03311443 meutudo
  33479023 Citibank, Citi
  33172537 J.P. Morgan
  32062580 UBS
  20018183 Stark Bank
  17453575 ICBC
  53518684 HSBC
  01522368 BNP Paribas
  62073200 Bank of America, BofA
  61533584 Société Générale, SocGen
  75647891 Crédit Agricole, CACIB
  60518222 Sumitomo Mitsui, SMBC
  60498557 MUFG, Mitsubishi UFJ
  59274605 Banco GM, Chevrolet, General Motors
  59109165 Volkswagen, VW
  01852137 Banco BBC
  34711571 Vitreo, Empiricus
  32402502 QI Tech
  51118718 Bitso
  52076716 Airwallex
  11581339 Money Plus
  00954288 FGC, Fundo Garantidor de Créditos
  10663610 Desenvolve SP
  31895683 Banco Industrial do Brasil, BIB
  00517645 Banco Ribeirão Preto, BRP
  01330387 Crehnor
  87437687 Sicredi Sul e Sudeste
  70119680 Sicredi Nordeste
  33737818 Sicredi Brasil Central
  33667205 Sicredi Centro Norte
  80230774 Sicredi PR/SP/RJ
  33657248 BNDES, Banco Nacional de Desenvolvimento Econômico e Social
`);

/** How many are offered while the field is empty. */
export const POPULAR = 10;

/**
 * Names that banks no longer have, of themselves or of those that they took over, from their public announcements: the
 * ISPB of the bank that remains, and each old name with its last year, which the field shows beside the hit. Brands
 * often outlive the legal name, so the year is approximate.
 */
export const FORMER_NAMES = rowsOf(`
  00416968 Intermedium 2017
  59285411 PanAmericano 2013
  71027866 Bonsucesso 2017
  90400888 Olé Bonsucesso 2021, Olé Consignado 2021, Banco Real 2010, ABN AMRO Real 2010,
    Banespa 2006, Sudameris 2007, Meridional 2001, Bozano Simonsen 2001
  60701190 BankBoston 2006, Banestado 2004, Banerj 2004, Bemge 2004, BEG 2004
  60394079 BankBoston 2006
  33885724 Itaú BMG Consignado 2017, Banerj 2012
  60746948 HSBC Bank Brasil 2016, Bamerindus 1997, BCN 2003, BEC 2006, Finasa 2009
  01701201 HSBC Bank Brasil 2016
  04184779 Ibi 2010
  07207996 Finasa BMC 2009
  27098060 CBSS 2017
  00000000 Nossa Caixa 2009, BESC 2009, BEP 2008
  01858774 Banco Votorantim 2019
  10664513 Agiplan 2018, Banco Gerador 2016
  04814563 Sorocred 2021
  59274605 GMAC 2016
  33923798 Banco Máxima 2021
  33884941 Banif 2022
  61024352 Voiter 2025, Indusval 2019, BI&P 2019
  58497702 Smartbank 2020, Intercap 2018
  61348538 Ficsa 2020
  23862762 Avista 2020
  92894922 Banco Matone 2011, Banco JBS 2011
  00558456 BGN 2013
  01522368 Cetelem 2024
  50585090 BCV 2021, Schahin 2011
  62421979 Cifra 2021, GE Capital 2011
  92874270 A.J. Renner 2020
  60850229 Pecúnia 2019
  78632767 Ourinvest 2023
  19307785 MS Bank 2022
  11703662 Confidence 2021
  13059145 Bexs 2023
  02992317 Treviso 2021
  11758741 Petra 2017
  45246410 Brasil Plural 2021, Banco Plural 2021
  27652684 Geração Futuro 2016
  76543115 Bamerindus 2014
  15124464 Banco Econômico 2022
  07450604 BicBanco 2015, China Construction Bank 2024, CCB Brasil 2024
  15114366 Banco BBM 2016
  34111187 BES Investimento 2015
  61088183 WestLB 2012
  60498557 Tokyo-Mitsubishi 2018
  29030467 Dresdner Bank 2012
  04866275 Standard Bank 2015
  75647891 Calyon 2010
  32062580 Credit Suisse 2024
  61809182 Credit Suisse Hedging-Griffo 2024
  02819125 Link Investimentos 2013
  48795256 Lemon Bank 2011, Bracce 2015
  30306294 UBS Pactual 2009
  15173776 Banco Capital 2020
  10264663 BBN 2020
  00997185 BM&FBovespa 2017
  80271455 Maxinvest 2022
  12865507 Brickell 2018
  00556603 Barigui Investimentos 2019
  14511781 Barigui Hipotecária 2019
  02038232 Bancoob 2021, Banco Cooperativo do Brasil 2021
  01181521 Bansicredi 2016
  05463212 Cecred 2017
  02398976 Sisprime do Paraná 2018
  62169875 Easynvest 2021
  29162769 Toro 2025
  65913436 Guide Investimentos 2024
  62285390 Singulare 2024, Socopa 2021
  62287735 Renascença 2022
  52904364 Concórdia 2018, Spinelli 2018
  61723847 Magliano 2021
  11285104 Biorc 2021
  34829992 Reag 2025
  13486793 BRL Trust 2023
  13673855 Fram Capital 2022
  11495073 Ouro Minas 2024
  07138049 Liga Invest 2023
  03311443 Parati 2023
  09089356 Gerencianet 2022
  13884775 Hub Fintech 2022
  13370835 BPP 2021, Conductor 2021
  19468242 Zoop 2024
  09554480 ContaSuper 2016
  13203354 FitBank 2024
  35523352 Donus 2022
`);
