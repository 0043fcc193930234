import { describe, expect, test } from '@jest/globals';
import axe from 'axe-core';
import { describeInBrowser } from '../kit/browser.ts';
import { createStage } from './stage.ts';

describeInBrowser('the bank picker, looked at by axe-core', () => {
  const stage = createStage();

  describe.each(['light', 'dark'] as const)('axe finds nothing in the %s page', (colorScheme) => {
    const violations = async (): Promise<unknown> => {
      await stage.page.evaluate(axe.source);
      return stage.page.evaluate(`axe.run().then(({ violations }) =>
        violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`);
    };
    const context = { colorScheme, reducedMotion: 'reduce' } as const;

    test('while it loads', async () => {
      await stage.start({ before: (emulator) => emulator.behave('hang') });
      await stage.open(context);
      expect(await violations()).toEqual([]);
      await stage.box().click();
      expect(await violations()).toEqual([]);
    });

    test('when a bank is searched and chosen', async () => {
      await stage.start();
      await stage.visit(context);
      expect(await violations()).toEqual([]);
      await stage.find('itau');
      await stage.box().press('ArrowDown');
      expect(await violations()).toEqual([]);
      await stage.box().press('Enter');
      expect(await violations()).toEqual([]);
      await stage.find('???');
      expect(await violations()).toEqual([]);
      await stage.page.keyboard.press('Tab');
      expect(await violations()).toEqual([]);
    });

    test('when the list is stale or did not come', async () => {
      await stage.startStale();
      await stage.visit(context);
      expect(await violations()).toEqual([]);
      await stage.rig.close();
      await stage.startCold();
      await stage.open(context);
      await stage.settled('failed');
      expect(await violations()).toEqual([]);
    });
  });
});
