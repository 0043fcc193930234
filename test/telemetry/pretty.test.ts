import { afterEach, expect, test } from '@jest/globals';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmulator } from '../../emulator/emulator.ts';
import { pretty } from '../../src/telemetry/pretty.ts';
import { eventually, startRig, type Rig, type RigOptions } from '../kit/rig.ts';

// What a person reads who starts the service at a terminal.

let rig: Rig;
afterEach(() => rig.close());

const start = async (options?: RigOptions): Promise<void> => {
  rig = await startRig(options);
  await eventually(() => rig.service.list.status().nextLoadInMs > 0);
};

/** The log so far as a terminal shows it, without the times. */
const shown = (): string => {
  let text = '';
  const terminal = pretty({ write: (line: string) => void (text += line) });
  for (const line of rig.log().split(/(?<=\n)/)) terminal.write(line);
  return text.replaceAll(/^\d\d:\d\d:\d\d/gm, 'hh:mm:ss');
};

test('three lines at the start give the addresses, the configuration and the source of the list', async () => {
  await start();
  expect(shown().split('\n').slice(0, 3)).toEqual([
    `hh:mm:ss  banks-bff 0.0.0-test is listening on ${rig.url}/banks; management port on ${rig.operatorsUrl}/`,
    '          environment: sandbox; token from PROVIDER_ACCESS_TOKEN; fields: code,ispb,name',
    '          no saved list, loading from the provider',
  ]);
  expect(shown()).not.toContain('emulator-access-token');
});

test('a restored list is named with its store', async () => {
  const provider = await startEmulator();
  const env = { CACHE_SNAPSHOT_FILE: join(mkdtempSync(join(tmpdir(), 'banks-bff-')), 'list') };
  await start({ env, provider });
  await rig.close();
  await start({ env, provider });
  expect(shown()).toContain('  list restored from CACHE_SNAPSHOT_FILE\n');
  await provider.close();
});

test('warnings are marked and keep their details', async () => {
  await start();
  await rig.emulator.behave('unavailable');
  rig.clock.next();
  await eventually(() => rig.service.list.status().failure !== undefined);
  expect(shown()).toMatch(/^hh:mm:ss {2}WARN {2}list: load failed: .*kind=unavailable {2}state=fresh$/m);
});
