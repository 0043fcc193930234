import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { openBanks } from '../../examples/look-up/banks.ts';
import { ALL_BANKS } from '../helpers/emulate.ts';
import { needProgram } from '../helpers/needs.ts';
import { runProgram, type Program, type ProgramOptions } from '../helpers/program.ts';
import { openRig } from '../helpers/rig.ts';
import { eventually } from '../helpers/wait-until.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

// The recipes of examples/look-up/, in each language: a service of somebody else's that keeps its
// list current.

const scratch = temporaryFolder('look-up-');
const programs: Program[] = [];
afterAll(() => {
  for (const { child } of programs) child.kill('SIGKILL');
});

/**
 * Tells which name the program finds under the key that it was started with; undefined: it has not
 * said.
 */
type Seen = () => string | undefined;
type Language = (url: string, file: string, key: string) => Promise<Seen>;

const run = (command: string, options: ProgramOptions): Program => {
  const program = runProgram(command, options);
  programs.push(program);
  return program;
};
const lastLine =
  ({ output }: Program): Seen =>
  () =>
    output().split('\n').at(-2);

const LANGUAGES: Readonly<Record<string, { readonly command?: string; readonly open: Language }>> =
  {
    TypeScript: {
      open: async (url, file, key) => {
        const find = await openBanks(url, file, 50);
        return () => {
          try {
            return find(key)?.name ?? 'unknown';
          } catch (error) {
            return String(error).includes('there is no list of banks') ? 'no list' : String(error);
          }
        };
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
from banks import Banks, NoList
find = Banks(sys.argv[1], sys.argv[2], 0.05).find
while True:
    try:
        print((find(sys.argv[3]) or {"name": "unknown"})["name"], flush=True)
    except NoList:
        print("no list", flush=True)
    time.sleep(0.01)
`,
        );
        return lastLine(run('python3', { args: [main, url, file, key] }));
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
		bank, found, err := find(os.Args[3])
		if err == banks.ErrNoList { fmt.Println("no list") } else if found { fmt.Println(bank.Name) } else { fmt.Println("unknown") }
	}
}
`,
        );
        const env = {
          PATH: '/usr/local/go/bin:/usr/bin:/bin',
          // With what it has compiled before.
          HOME: homedir(),
          GOFLAGS: '-mod=mod',
          GOPROXY: 'off',
        };
        const build = run('go', { args: ['build', '-o', 'look-up', '.'], cwd: folder, env });
        expect([await build.exit, build.output()]).toEqual([0, '']);
        return lastLine(run(join(folder, 'look-up'), { args: [url, file, key] }));
      },
    },
  };
const NUBANK = { code: '260', ispb: '18236120' };
const renamed = ALL_BANKS.map((bank) =>
  bank['code'] === NUBANK.code ? { ...bank, name: 'ANOTHER NAME' } : bank,
);
const nameOf = (list: readonly Record<string, string>[]): string | undefined =>
  list.find(({ code }) => code === NUBANK.code)?.['name'];

for (const [language, { command, open }] of Object.entries(LANGUAGES)) {
  const suite = command
    ? needProgram(
        [command],
        `On Debian: apt-get install ${command === 'go' ? 'golang-go' : command}`,
      ).describeWithIt
    : describe;
  suite(`the look-up in ${language}`, () => {
    test.concurrent(
      'has its list on day 0, follows the service, asks once per TTL, and downloads only changes',
      async () => {
        const { url, log, clock, emulator, close } = await openRig({
          env: { CACHE_TTL: '1s' },
          emulator: { banks: ALL_BANKS },
          before: (provider) => provider.behave('unavailable'),
        });
        const listStatuses = (): string[] =>
          [...log().matchAll(/"path":"\/banks","statusCode":(\d+)/g)].map(
            ([, status = '']) => status,
          );
        const file = join(scratch, `${language}.json`);
        writeFileSync(file, JSON.stringify(renamed));
        const seen = await open(`${url}/banks`, file, NUBANK.code);
        await eventually(() => seen() === nameOf(renamed) && listStatuses().includes('503'));

        await emulator.behave('healthy');
        clock.next();
        await eventually(() => seen() === nameOf(ALL_BANKS));
        // It never has half a list.
        const saved = (): Record<string, string>[] => JSON.parse(readFileSync(file, 'utf8'));
        await eventually(() => nameOf(saved()) === nameOf(ALL_BANKS));
        expect(saved()).toHaveLength(ALL_BANKS.length);

        const answersOf = (status: string): number =>
          listStatuses().filter((each) => each === status).length;
        await eventually(() => answersOf('304') === 1);
        const asked = performance.now();
        await eventually(() => answersOf('304') === 2);
        // The clock of the service stands still: the list is always fresh for one second more.
        expect(performance.now() - asked).toBeGreaterThan(500);
        expect(answersOf('200')).toBe(1);
        emulator.setBanks(renamed);
        clock.next();
        await eventually(() => seen() === nameOf(renamed));
        expect(answersOf('200')).toBe(2);

        const newFile = join(scratch, `${language}-new.json`);
        const seenByAnother = await open(`${url}/banks`, newFile, NUBANK.ispb);
        await eventually(() => seenByAnother() === nameOf(renamed) && existsSync(newFile));
        await close();
      },
    );

    test('tells no list from no such bank, and survives a damaged file', async () => {
      const { url, clock, emulator, close } = await openRig({
        env: { CACHE_TTL: '1s' },
        before: (provider) => provider.behave('unavailable'),
      });
      const file = join(scratch, `${language}-damaged.json`);
      writeFileSync(file, '[{"code":"26');
      const seen = await open(`${url}/banks`, file, 'no such bank');
      await eventually(() => seen() === 'no list');
      await emulator.behave('healthy');
      clock.next();
      await eventually(() => seen() === 'unknown');
      expect(seen()).toBe('unknown');
      await close();
    });
  });
}

test('the differences of two downloads are the banks that came, went and changed', async () => {
  const download = (name: string, ...banks: readonly object[]): string => {
    writeFileSync(join(scratch, name), JSON.stringify(banks));
    return join(scratch, name);
  };
  const bank = (ispb: string, name: string): object => ({ ispb, name });
  const yesterday = download('1.json', bank('001', 'GONE'), bank('033', 'BEFORE'), NUBANK);
  const today = download('2.json', NUBANK, bank('033', 'AFTER'), bank('999', 'NEW BANK'));
  const { exit, output } = run(process.execPath, {
    args: [resolve('examples/look-up/changes.mjs'), yesterday, today],
  });
  expect(await exit).toBe(0);
  expect(output().trimEnd().split('\n')).toEqual([
    'removed {"ispb":"001","name":"GONE"}',
    'changed {"ispb":"033","name":"BEFORE"} to {"ispb":"033","name":"AFTER"}',
    'added   {"ispb":"999","name":"NEW BANK"}',
  ]);
});

test.each([[[]], [['yesterday.json']], [['absent.json', 'absent.json']]])(
  'the program of differences explains what is wrong with the arguments %j',
  async (args) => {
    const { exit, output } = run(process.execPath, {
      args: [resolve('examples/look-up/changes.mjs'), ...args],
      cwd: scratch,
    });
    expect(await exit).toBe(2);
    expect(output()).toMatch(
      /^(?:Usage: node changes\.mjs|absent\.json is no list of banks: ENOENT).*\n$/,
    );
  },
);
