import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { openBanks } from '../examples/look-up/banks.ts';
import { needProgram } from './kit/needs.ts';
import { runProgram, type Program } from './kit/program.ts';
import { eventually, startRig, type Rig } from './kit/rig.ts';

// The recipes of examples/look-up/, in each language: a service of somebody else's that keeps its list current.

const scratch = mkdtempSync(join(tmpdir(), 'look-up-'));
let rig: Rig;
let program: Program | undefined;
afterEach(async () => {
  program?.child.kill('SIGKILL');
  program = undefined;
  await rig.close();
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** Tells which name the program finds under the key that it was started with; undefined: it has not said. */
type Seen = () => string | undefined;
type Language = (url: string, file: string, key: string) => Promise<Seen>;

const lastLine = (running: Program): Seen => {
  program = running;
  return () => running.output().split('\n').at(-2);
};

const LANGUAGES: Readonly<Record<string, { readonly command?: string; readonly open: Language }>> = {
  TypeScript: {
    open: async (url, file, key) => {
      const find = await openBanks(url, file, 50);
      return () => find(key)?.name ?? 'unknown';
    },
  },
  Python: {
    command: 'python3',
    open: async (url, file, key) => {
      const main = join(scratch, 'main.py');
      cpSync('examples/look-up/banks.py', join(scratch, 'banks.py'));
      writeFileSync(
        main,
        `import sys, time
from banks import Banks
find = Banks(sys.argv[1], sys.argv[2], 0.05).find
while True:
    print((find(sys.argv[3]) or {"name": "unknown"})["name"], flush=True)
    time.sleep(0.01)
`,
      );
      return lastLine(runProgram('python3', { args: [main, url, file, key] }));
    },
  },
  Go: {
    command: 'go',
    open: async (url, file, key) => {
      const folder = join(scratch, 'go');
      mkdirSync(join(folder, 'banks'), { recursive: true });
      cpSync('examples/look-up/banks.go', join(folder, 'banks/banks.go'));
      writeFileSync(join(folder, 'go.mod'), 'module example.com/look-up\n\ngo 1.19\n');
      writeFileSync(
        join(folder, 'main.go'),
        `package main
import ("fmt"; "os"; "time"; "example.com/look-up/banks")
func main() {
	find := banks.Open(os.Args[1], os.Args[2], 50*time.Millisecond).Find
	for ; ; time.Sleep(10*time.Millisecond) {
		if bank, found := find(os.Args[3]); found { fmt.Println(bank.Name) } else { fmt.Println("unknown") }
	}
}
`,
      );
      const env = {
        PATH: '/usr/local/go/bin:/usr/bin:/bin',
        HOME: join(scratch, 'home'),
        GOFLAGS: '-mod=mod',
        GOPROXY: 'off',
      };
      const built = spawnSync('go', ['build', '-o', 'look-up', '.'], { cwd: folder, env, encoding: 'utf8' });
      expect(built.stderr).toBe('');
      return lastLine(runProgram(join(folder, 'look-up'), { args: [url, file, key] }));
    },
  },
};
const BANKS: readonly Record<string, string>[] = JSON.parse(readFileSync('emulator/banks.json', 'utf8'));
const NUBANK = { code: '260', ispb: '18236120' };
const renamed = BANKS.map((bank) =>
  bank['code'] === NUBANK.code ? { ...bank, name: 'ANOTHER NAME' } : bank,
);
const nameOf = (list: readonly Record<string, string>[]): string | undefined =>
  list.find(({ code }) => code === NUBANK.code)?.['name'];

const listStatuses = (): number[] =>
  [...rig.log().matchAll(/"path":"\/banks","status":(\d+)/g)].map(([, status]) => Number(status));

for (const [language, { command, open }] of Object.entries(LANGUAGES)) {
  const suite = command
    ? needProgram([command], `On Debian: apt-get install ${command === 'go' ? 'golang-go' : command}`)
        .describeWithIt
    : describe;
  suite(`the look-up in ${language}`, () => {
    test('has its list on day 0, while there is no other, and then follows the service', async () => {
      rig = await startRig({
        env: { CACHE_TTL: '1s' },
        before: (emulator) => emulator.behave('unavailable'),
      });
      const file = join(scratch, `${language}.json`);
      writeFileSync(file, JSON.stringify(renamed));
      const seen = await open(`${rig.url}/banks`, file, NUBANK.code);
      await eventually(() => seen() === nameOf(renamed) && listStatuses().length > 0);

      await rig.emulator.behave('healthy');
      rig.clock.next();
      await eventually(() => seen() === nameOf(BANKS));
      // It never has half a list.
      const saved = (): Record<string, string>[] => JSON.parse(readFileSync(file, 'utf8'));
      await eventually(() => nameOf(saved()) === nameOf(BANKS));
      expect(saved()).toHaveLength(513);
    });

    test('asks once per TTL, and downloads a list only when it has changed', async () => {
      rig = await startRig({ env: { CACHE_TTL: '1s' } });
      await eventually(() => rig.service.list.served() !== undefined);
      const file = join(scratch, `${language}-new.json`);
      const seen = await open(`${rig.url}/banks`, file, NUBANK.ispb);
      await eventually(() => seen() === nameOf(BANKS) && existsSync(file));
      await eventually(() => listStatuses().length === 2);
      const asked = performance.now();
      await eventually(() => listStatuses().length === 3);
      // The clock of the service stands still: the list is always fresh for one second more.
      expect(performance.now() - asked).toBeGreaterThan(900);

      rig.emulator.setBanks(renamed);
      rig.clock.next();
      await eventually(() => seen() === nameOf(renamed));
      const statuses = listStatuses();
      expect(statuses.filter((status) => status === 200)).toHaveLength(2);
      expect(statuses.slice(0, 3)).toEqual([200, 304, 304]);
    });
  });
}

test('the differences of two downloads are the banks that came, went and changed', async () => {
  rig = await startRig();
  await eventually(() => rig.service.list.served() !== undefined);
  const download = async (name: string): Promise<string> => {
    writeFileSync(join(scratch, name), await (await fetch(`${rig.url}/banks`)).text());
    return join(scratch, name);
  };
  const yesterday = await download('yesterday.json');
  rig.emulator.setBanks([...renamed.slice(1), { code: '999', ispb: '99999999', name: 'NEW BANK' }]);
  rig.clock.next();
  await eventually(() => rig.messages().includes('list: changed'));
  const today = await download('today.json');
  const { stdout } = spawnSync(
    process.execPath,
    [resolve('examples/look-up/changes.mjs'), yesterday, today],
    {
      encoding: 'utf8',
    },
  );
  expect(stdout.trimEnd().split('\n')).toEqual([
    'removed {"code":"001","ispb":"00000000","name":"BCO DO BRASIL S.A."}',
    `changed {"code":"260","ispb":"18236120","name":"${nameOf(BANKS) ?? ''}"} to {"code":"260","ispb":"18236120","name":"ANOTHER NAME"}`,
    'added   {"code":"999","ispb":"99999999","name":"NEW BANK"}',
  ]);
});
