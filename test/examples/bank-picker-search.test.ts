import { describe, expect, test } from '@jest/globals';
import { describeInBrowser } from '../kit/browser.ts';
import { FIRST, FIRST_THREE } from './bank-queries.ts';
import { createStage } from './stage.ts';

describeInBrowser('the search of the bank picker', () => {
  const stage = createStage();
  const visit = async (): Promise<void> => {
    await stage.start();
    await stage.visit();
  };

  /** Types each query into the empty field, and gives the codes of the first banks that it shows. */
  const shownFor = (queries: readonly string[], most: number) =>
    stage.ask<string[][]>(`${JSON.stringify(queries)}.map((query) => {
      const [field, list] = ['input', '[role=listbox]'].map((it) => picker.shadowRoot.querySelector(it));
      field.value = query;
      field.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
      return [...list.querySelectorAll('.code')].slice(0, ${most}).map((code) => code.textContent);
    })`);

  test('what people type finds the bank that they mean', async () => {
    await visit();
    const missed: string[] = [];
    let count = 0;
    for (const [table, most] of [
      [FIRST, 1],
      [FIRST_THREE, 3],
    ] as const) {
      for (const [why, lines] of Object.entries(table)) {
        const rows = [...lines.matchAll(/^ *(\d{3}) ([^:]+): (.*?)`?$/gm)];
        const asked = rows.flatMap(([, code = '', name = '', queries = '']) =>
          queries.split(', ').map((query) => ({ code, name, query })),
        );
        const shown = await shownFor(
          asked.map(({ query }) => query),
          most,
        );
        count += asked.length;
        for (const [index, { code, name, query }] of asked.entries()) {
          if (!shown[index]?.includes(code))
            missed.push(`${why}: ${query} is ${name}, not ${shown[index]?.join()}`);
        }
      }
    }
    process.stdout.write(
      `The bank picker's search: ${count - missed.length} of ${count} queries find the bank.\n`,
    );
    expect(count).toBeGreaterThan(900);
    expect(missed).toEqual([]);
  });

  test('finds banks with every word, and for digits also the ISPBs that begin with them', async () => {
    await visit();
    expect(await stage.find('341')).toEqual(['341', '078', '760']);
    expect(await stage.find('60701190')).toEqual(['341']);
    expect(await stage.find('  unibanco   itaú ')).toEqual(['341', '652']);
    expect(await stage.find('itau')).toEqual(['341', '184', '029', '652', '479']);
    for (const nonsense of ['nenhum banco assim', 'xyz', '???'])
      expect(await stage.find(nonsense)).toEqual([]);
    expect(await stage.page.getByText('Nenhum banco encontrado').first().isVisible()).toBe(true);
  });

  test('shows all banks, and none of them twice, for words that are about banks only', async () => {
    await visit();
    expect((await stage.find('sicredi')).toSorted()).toEqual(['580', '581', '582', '583', '584', '748']);
    const codes = await stage.find('banco digital');
    expect([codes.length > 0, new Set(codes).size]).toEqual([true, codes.length]);
  });

  test('does not correct a word that some bank has', async () => {
    await visit();
    expect(await stage.find('neon')).toEqual(['536', '113', '426']);
    expect((await stage.find('neom'))[0]).toBe('536');
  });

  test('says by which name that people do not see a bank was found', async () => {
    await visit();
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

  test('marks the matching text', async () => {
    await visit();
    const marks = async (query: string) => {
      await stage.find(query);
      return stage.options().first().locator('mark').allTextContents();
    };
    expect(await marks('itau uni')).toEqual(['ITAÚ UNI']);
    expect(await marks('nub')).toEqual(['Nub']);
    expect(await marks('6070')).toEqual(['6070']);
    expect(await marks('33')).toEqual(['33']);
    expect(await marks('bradezco')).toEqual(['BRADESCO']);
    expect(await marks('itau agencia 1234')).toEqual(['ITAÚ']);
    expect(await marks('consignado c6')).toEqual(['C6 CONSIG']);
  });

  describe('takes', () => {
    /** The time of a key until its hits are laid out, in ms: the median, and the longest. */
    const timeOfKeys = (queries: readonly string[]) =>
      stage.ask<[number, number]>(`(() => {
        const field = picker.shadowRoot.querySelector('input');
        const times = ${JSON.stringify(queries)}.flatMap((query) => [...query].map((_, at) => {
          field.value = query.slice(0, at + 1);
          const start = performance.now();
          field.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
          picker.shadowRoot.querySelector('.popup').getBoundingClientRect();
          return performance.now() - start;
        })).toSorted((a, b) => a - b);
        return [times[times.length >> 1], times.at(-1)];
      })()`);
    const QUERIES = ['banco do brasil', 'itau unibanco', 'bradezco', 'sicredi pioneira', '18236120', 'sa'];

    test.each([513, 50_000])('no time that people notice for a key, with %i banks', async (count) => {
      const bank = (at: number) => ({
        code: String(at % 1_000).padStart(3, '0'),
        ispb: String(10_000_000 + at),
        name: `BCO ${(at * 7_919).toString(36)} ${['CREDITO', 'DO BRASIL', 'PAGAMENTOS', 'FINANCEIRA'][at % 4]} S.A.`,
      });
      const list = JSON.stringify(Array.from({ length: count }, (_, at) => bank(at)));
      const answer = count === 513 ? undefined : list;
      await stage.start({
        before: (emulator) => {
          if (!answer) return;
          emulator.respondWith(
            (_req, res) => void res.writeHead(200, { 'content-type': 'application/json' }).end(answer),
          );
        },
      });
      await stage.visit();
      await timeOfKeys(QUERIES);
      const [median, longest] = await timeOfKeys(QUERIES);
      process.stdout.write(
        `A key with ${count} banks: ${median.toFixed(1)} ms, at most ${longest.toFixed(1)} ms.\n`,
      );
      // A laptop needs less than 50 ms; this machine may be busy.
      expect(median).toBeLessThan(150);
    });

    test('no longer for a pasted text', async () => {
      await visit();
      const pasted = Array.from({ length: 5_000 }, (_, at) => `palavra${at}`).join(' ');
      const [, longest] = await stage.ask<[number, number]>(`(() => {
        const field = picker.shadowRoot.querySelector('input');
        field.value = ${JSON.stringify(pasted)};
        const start = performance.now();
        field.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
        return [0, performance.now() - start];
      })()`);
      expect(longest).toBeLessThan(1_000);
      await stage.box().fill('');
      await stage.page.keyboard.insertText(pasted);
      expect((await stage.box().inputValue()).length).toBe(160);
    });
  });
});
