import { expect, test } from '@jest/globals';
import { describeInBrowser } from '../kit/browser.ts';
import { createStage } from './stage.ts';

/** The bank that a person expects first, by ISPB and name, and what they might type for it, separated by commas. */
const EXPECTED: readonly (readonly [ispb: string, name: string, queries: string])[] = [
  [
    '18236120',
    'NU PAGAMENTOS - IP',
    'nubank, nu bank, nu, nub, Nubank, banco nubank, nu pagamentos, nubak, nunbank, 260, 18236120',
  ],
  ['00416968', 'BANCO INTER', 'inter, banco inter, int, itner, 077, 77, 416968, 00416968'],
  [
    '60701190',
    'ITAÚ UNIBANCO S.A.',
    'itau, itaú, ITAÚ, Banco Itaú, banco itau, itau unibanco, unibanco itau, itua, iti, 341, 60701190, 60.701.190/0001-04, 341 itau',
  ],
  ['17298092', 'BCO ITAÚ BBA S.A.', 'itau bba'],
  [
    '00000000',
    'BCO DO BRASIL S.A.',
    'bb, banco do brasil, brasil, do brasil, bco do brasil, banco brasil, 001, 1, 00000000',
  ],
  [
    '00360305',
    'CAIXA ECONOMICA FEDERAL',
    'caixa, caixa economica, caixa econômica federal, cef, caxia, caixa tem, 104',
  ],
  [
    '90400888',
    'BCO SANTANDER (BRASIL) S.A.',
    'santander, banco santander, satander, santader, sant, 033, 33',
  ],
  ['60746948', 'BCO BRADESCO S.A.', 'bradesco, bradezco, bradsco, brad, 237, next'],
  ['06271464', 'BCO BBI S.A.', 'bradesco bbi'],
  ['08561701', 'PAGSEGURO INTERNET IP S.A.', 'pagbank, pag bank, pagseguro, pag seguro, pagbnak, 290'],
  ['10573521', 'MERCADO PAGO IP LTDA.', 'mercado pago, mercadopago, mercado, mercado pgo, mercdo pago, 323'],
  ['22896431', 'PICPAY', 'picpay, pic pay, picpai, 380'],
  ['09516419', 'PICPAY BANK - BANCO MÚLTIPLO S.A', 'picpay bank'],
  ['31872495', 'BCO C6 S.A.', 'c6, c6 bank, banco c6, c 6, 336'],
  ['33264668', 'BCO XP S.A.', 'xp, banco xp, 348'],
  ['02332886', 'XP INVESTIMENTOS CCTVM S/A', 'xp investimentos, rico, clear, 102'],
  ['92702067', 'BCO DO ESTADO DO RS S.A.', 'banrisul, banrizul, banco do estado do rio grande do sul, 041'],
  ['02038232', 'BANCO SICOOB S.A.', 'sicoob, sicob, bancoob, 756'],
  ['01181521', 'BANCO COOPERATIVO SICREDI', 'sicredi, 748'],
  ['30306294', 'BANCO BTG PACTUAL S.A.', 'btg, btg pactual'],
  ['59285411', 'BANCO PAN', 'pan, banco pan'],
  ['58160789', 'BCO SAFRA S.A.', 'safra, banco safra'],
  ['61186680', 'BCO BMG S.A.', 'bmg'],
  ['92894922', 'BANCO ORIGINAL', 'banco original, original'],
  ['20855875', 'NEON PAGAMENTOS S.A. IP', 'neon, banco neon'],
  ['16501555', 'STONE IP S.A.', 'stone, ton'],
  ['10664513', 'BCO AGIBANK S.A.', 'agibank, agi bank'],
  ['62232889', 'BCO DAYCOVAL S.A', 'daycoval, dayoval'],
  ['27098060', 'BANCO DIGIO', 'digio'],
  ['17184037', 'BCO MERCANTIL DO BRASIL S.A.', 'mercantil do brasil'],
  ['07237373', 'BCO DO NORDESTE DO BRASIL S.A.', 'banco do nordeste, nordeste, bnb'],
  ['04902979', 'BCO DA AMAZONIA S.A.', 'banco da amazonia, amazônia, basa'],
  ['00000208', 'BRB - BCO DE BRASILIA S.A.', 'brb, banco de brasilia'],
  ['28127603', 'BCO BANESTES S.A.', 'banestes'],
  ['04913711', 'BCO DO EST. DO PA S.A.', 'banpara'],
  ['13009717', 'BCO DO EST. DE SE S.A.', 'banese'],
  ['60889128', 'BCO SOFISA S.A.', 'sofisa'],
  ['30723886', 'BCO MODAL S.A.', 'modalmais'],
  ['71027866', 'BCO BS2 S.A.', 'bs2'],
  ['14388334', 'PARANA BCO S.A.', 'parana banco'],
  ['61033106', 'BCO CREFISA S.A.', 'crefisa'],
  ['05463212', 'COOPCENTRAL AILOS', 'ailos, viacredi'],
  ['00315557', 'UNICRED DO BRASIL', 'unicred'],
  ['10398952', 'CRESOL CONFEDERAÇÃO', 'cresol'],
  ['23862762', 'WILL FINANCEIRA S.A.CFI - EM LIQUIDAÇÃO EXTRAJUDICIAL', 'will bank'],
  ['37880206', 'CORA SCFI', 'cora'],
  ['09089356', 'EFÍ S.A. - IP', 'efi, gerencianet'],
  ['19540550', 'ASAAS IP S.A.', 'asaas'],
  ['18189547', 'CLOUDWALK IP LTDA', 'infinitepay, cloudwalk, infinite pay'],
  ['37241230', 'SUMUP SCFI S.A', 'sumup'],
  ['10440482', 'GETNET IP', 'getnet'],
  ['01027058', 'CIELO IP S.A.', 'cielo'],
  ['13884775', 'MAGALUPAY', 'magalu'],
  ['19468242', 'IFOOD PAGO IP', 'ifood'],
  ['24313102', '99PAY IP S.A.', '99pay'],
  ['51342763', 'REVOLUT SCD S.A.', 'revolut'],
  ['08357240', 'BCO CSF S.A.', 'carrefour'],
  ['03012230', 'HIPERCARD BM S.A.', 'hipercard'],
  ['27351731', 'REALIZE SCFI S.A.', 'renner'],
  ['09464032', 'MIDWAY S.A. - SCFI', 'riachuelo'],
  ['04862600', 'PORTOSEG S.A. CFI', 'porto seguro'],
  ['33479023', 'BCO CITIBANK S.A.', 'citibank'],
  ['59588111', 'BCO VOTORANTIM S.A.', 'votorantim'],
  ['01858774', 'BCO BV S.A.', 'bv'],
  ['33657248', 'BNDES', 'bndes'],
  ['62169875', 'NU INVESTIMENTOS S.A. - CTVM', 'nu invest, nubank investimentos'],
  ['09554480', 'SUPERDIGITAL I.P. S.A.', 'superdigital'],
  ['62073200', 'BOFA MERRILL LYNCH BM S.A.', 'bank of america'],
  ['33172537', 'BCO J.P. MORGAN S.A.', 'jp morgan'],
  ['53518684', 'BCO HSBC S.A.', 'hsbc'],
  ['03046391', 'UNIPRIME COOPCENTRAL LTDA.', 'uniprime'],
  ['54811417', 'WOOVI IP LTDA.', 'woovi, openpix'],
  ['32997490', 'CREDITAS SCD', 'creditas'],
  ['11351086', 'MERCADO BITCOIN IP LTDA', 'mercado bitcoin'],
  ['13935893', 'CELCOIN IP S.A.', 'celcoin'],
];

describeInBrowser('the search of the bank picker', () => {
  const stage = createStage();

  test('finds what people type, with the bank that they mean first', async () => {
    await stage.start();
    await stage.visit();
    const asked = EXPECTED.flatMap(([ispb, name, queries]) =>
      queries.split(', ').map((query) => ({ query, first: `${name} ${ispb}` })),
    );
    expect(asked.length).toBeGreaterThanOrEqual(100);
    const first = `picker.shadowRoot.querySelector('[role=option]')`;
    const found = [];
    for (const { query } of asked) {
      await stage.box().fill(query);
      const text = await stage.ask<string>(
        `${first} ? ${first}.querySelector('.name bdi:last-child').textContent + ' ' + ${first}.textContent.slice(-8) : 'nothing'`,
      );
      found.push({ query, first: text });
    }
    expect(found).toEqual(asked);
  });

  test('finds only banks with every word, and for digits also the ISPBs that begin with them', async () => {
    await stage.start();
    await stage.visit();
    expect(await stage.find('341')).toEqual(['341', '078', '760']);
    expect(await stage.find('60701190')).toEqual(['341']);
    expect(await stage.find('  unibanco   itaú ')).toEqual(['341', '652']);
    expect(await stage.find('itau')).toEqual(['341', '652', '029', '184', '479']);
    expect(await stage.find('nenhum banco assim')).toEqual([]);
    expect(await stage.find('???')).toEqual([]);
    expect(await stage.page.getByText('Nenhum banco encontrado').first().isVisible()).toBe(true);
  });

  test('does not correct a word that some bank has', async () => {
    await stage.start();
    await stage.visit();
    const names = () => stage.options().locator('.name bdi:last-child').allTextContents();
    await stage.find('neon');
    expect(await names()).toEqual([
      'NEON PAGAMENTOS S.A. IP',
      'NEON CTVM S.A.',
      'NEON FINANCEIRA - SCFI S.A.',
    ]);
    await stage.find('neom');
    expect((await names())[0]).toBe('NEON PAGAMENTOS S.A. IP');
  });

  test('marks the matching text', async () => {
    await stage.start();
    await stage.visit();
    const marks = () => stage.options().first().locator('mark').allTextContents();
    await stage.find('itau uni');
    expect(await marks()).toEqual(['ITAÚ UNI']);
    await stage.find('nub');
    expect(await marks()).toEqual(['Nub']);
    await stage.find('6070');
    expect(await marks()).toEqual(['6070']);
    await stage.find('bradezco');
    expect(await marks()).toEqual(['BRADESCO']);
  });
});
