import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { describeInBrowser } from '../kit/browser.ts';
import { eventually } from '../kit/rig.ts';
import { createStage } from '../examples/stage.ts';

describeInBrowser('the script that docs/api.md gives to pages', () => {
  const stage = createStage();

  test('gets the list from another origin, and waits for one as the service asks', async () => {
    const [, script = ''] =
      /```js\n(const fetchBanks[^]*?)```/.exec(readFileSync('docs/api.md', 'utf8')) ?? [];
    await stage.startCold();
    const here = script.replace('http://localhost:3000/banks', `${stage.rig.url}/banks`);
    await stage.openPage(
      `<!doctype html><script>${here}; fetchBanks().then((banks) => { document.title = String(banks.length); });</script>`,
    );
    await eventually(() => /"status":503/.test(stage.rig.log()));
    expect(await stage.page.title()).toBe('');
    await stage.rig.emulator.behave('healthy');
    stage.rig.clock.next();
    await stage.page.waitForFunction("document.title === '513'");
    expect(stage.rig.log().match(/"path":"\/banks","status":\d+/g)).toEqual([
      '"path":"/banks","status":503',
      '"path":"/banks","status":200',
    ]);
  });
});
