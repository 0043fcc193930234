import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { describeInBrowser } from '../kit/browser.ts';
import { createStage } from './stage.ts';

describeInBrowser('the search of the bank picker', () => {
  const stage = createStage();
  /** Types each query into the empty field, and gives the codes of the first banks that it shows. */
  const shownFor = (queries: readonly string[], most: number) =>
    stage.ask<string[][]>(`${JSON.stringify(queries)}.map((query) => {
      const [field, list] = ['input', '[role=listbox]'].map((it) => picker.shadowRoot.querySelector(it));
      field.value = query;
      field.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
      return [...list.querySelectorAll('.code')].slice(0, ${most}).map((code) => code.textContent);
    })`);

  test('what people type finds the bank that they mean', async () => {
    await stage.visit();
    const missed: string[] = [];
    let count = 0;
    for (const section of readFileSync('test/examples/queries.txt', 'utf8').split(/^# /m).slice(1)) {
      const most = section.split('\n', 1)[0]?.endsWith('(3)') ? 3 : 1;
      const asked = [...section.matchAll(/^(\d{3}) ([^:]+): (.*)$/gm)].flatMap(
        ([, code = '', name = '', queries = '']) =>
          queries.split(', ').map((query) => ({ code, name, query })),
      );
      const queries = asked.map(({ query }) => query);
      const shown = await shownFor(queries, most);
      count += asked.length;
      for (const [index, { code, name, query }] of asked.entries())
        if (!shown[index]?.includes(code)) missed.push(`${query} is ${name}, not ${shown[index]?.join()}`);
    }
    expect(count).toBeGreaterThan(900);
    expect(missed).toEqual([]);
  });

  test('finds banks with every word, and for digits also the ISPBs that begin with them', async () => {
    await stage.visit();
    expect(await stage.find('341')).toEqual(['341', '078', '760']);
    expect(await stage.find('60701190')).toEqual(['341']);
    expect(await stage.find('  unibanco   itaú ')).toEqual(['341', '652']);
    expect(await stage.find('nenhum banco assim')).toEqual([]);
  });

  test('says by which name that people do not see a bank was found', async () => {
    await stage.visit();
    const found = async (query: string) => {
      await stage.find(query);
      return stage.options().first().locator('.name').textContent();
    };
    expect(await found('next')).toBe('Next BCO BRADESCO S.A.');
    expect(await found('ton')).toBe('Ton STONE IP S.A.');
    expect(await found('clear')).toBe('Clear XP INVESTIMENTOS CCTVM S/A');
    expect(await found('intermedium')).toBe('Intermedium até 2017 BANCO INTER');
    expect(await found('bradesco')).toBe('BCO BRADESCO S.A.');
    expect(await found('nubank')).toBe('Nubank NU PAGAMENTOS - IP');
  });
});
