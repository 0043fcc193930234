import { describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { posix } from 'node:path';
import { parseEnv, promisify } from 'node:util';
import { LOAD_ERROR_KINDS } from '../src/banks/load-error.ts';
import { FAILURE_KINDS } from '../src/failure-kinds.ts';
import { parseConfig } from '../src/config/config.ts';
import { VARIABLE_NAMES } from '../src/config/variables.ts';
import { LIMITS, MAX_HEADER_BYTES, MAX_HEADERS } from '../src/http-front/limits.ts';
import { problemOf } from '../src/http/problem-details.ts';
import { ALL_BANKS, BANKS } from './helpers/emulate.ts';
import { ALERT_RULES, read } from './helpers/repository.ts';
import { startLoadedRig, type Rig } from './helpers/rig.ts';
import { runInShell } from './helpers/program.ts';
import { eventually } from './helpers/wait-until.ts';

// What the documents name exists, what their curl commands print is what the service answers, and
// what they repeat of the code is complete.

const filesOf = (folder: string, end: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(end))
    .map((name) => `${folder}/${name}`);
/** The first group of each match. */
const find = (pattern: RegExp, text: string): string[] =>
  [...text.matchAll(pattern)].map(([, found = '']) => found);

const PAGES = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...filesOf('docs', '.md')];

const MANIFEST: { scripts?: object; dependencies?: object } = JSON.parse(read('package.json'));
const KNOWN_VARIABLES = new Set<string>(VARIABLE_NAMES);
const PREFIXES = new Set(VARIABLE_NAMES.map((name) => name.split('_')[0]));

test.each([...PAGES, 'CHANGELOG.md'])(
  'in %s each link leads to a heading, and each file, npm script and variable that is named exists',
  (page) => {
    const text = read(page);
    const links = find(/\]\((?!https?:)([^)\s]+)\)/g, text).filter((link) => {
      const [path = '', heading] = link.split('#');
      const file = path === '' ? page : posix.join(posix.dirname(page), path);
      return !existsSync(file) || (heading !== undefined && !anchorsOf(file).includes(heading));
    });
    const files = find(
      /(?:`|^| )((?:\.ci|deploy|dist|docs|emulator|examples|packages|src|test|tools)\/[\w./-]*)/gm,
      text,
    ).filter((file) => !existsSync(file.replace(/[.,]$/, '')));
    const scripts = find(/npm run (?:--silent )?([\w:]+)/g, text).filter(
      (name) => !Object.hasOwn(MANIFEST.scripts ?? {}, name),
    );
    const variables = find(/\b([A-Z]+_[A-Z_]*[A-Z])\b/g, text).filter(
      (name) => PREFIXES.has(name.split('_')[0]) && !KNOWN_VARIABLES.has(name),
    );
    expect([...links, ...files, ...scripts, ...variables]).toEqual([]);
  },
);

/** The anchors of a page's headings, as GitHub makes them. */
const anchorsOf = (page: string): string[] =>
  find(/^#+ (.*)$/gm, read(page)).map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );

describe('the commands that need a running service', () => {
  /**
   * The curl commands of a page's `console` blocks, with the output that the page shows, and the
   * line before the block.
   */
  const exchangesOf = (page: string) =>
    [...read(page).matchAll(/([^\n]*)\n+```console\n([^]*?)```/g)]
      .flatMap(([, lead = '', block = '']) =>
        [...block.matchAll(/^\$ (.*)\n((?:(?!\$ ).*\n)*)/gm)].map(
          ([, command = '', output = ''], index) => ({
            command,
            output,
            lead: index === 0 ? lead : '',
          }),
        ),
      )
      .filter(({ command }) => command.startsWith('curl '));

  /** What differs from run to run. */
  const mask = (text: string): string =>
    text
      .replaceAll('\r', '')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
      .replaceAll(/"ageSeconds":\d+/g, '"ageSeconds":<age>')
      .replaceAll(/"version":"[^"]+"/g, '"version":"<version>"')
      .trimEnd();

  const run = (command: string, { url, managementUrl, emulator }: Rig): Promise<string> => {
    const here = command
      .replaceAll('localhost:3000', url)
      .replaceAll('localhost:3001', managementUrl)
      .replaceAll('localhost:4001', emulator.controlUrl);
    // Without `pipefail`, as in a person's shell: `head` ends before curl has written everything.
    return runInShell(here);
  };

  /** Lets `seconds` pass in steps, so that each load on the way ends before its deadline. */
  const pass = async (seconds: number, { clock, service }: Rig): Promise<void> => {
    for (let second = 0; second < seconds; second += 1) {
      clock.advance(1_000);
      await eventually(() => service.list.status().nextLoadInMs > 0);
    }
  };

  test.each(PAGES.filter((page) => exchangesOf(page).length > 0))(
    'in %s print what the page shows',
    async (page) => {
      // The README's commands are for the demo, whose list is fresh for 15 seconds.
      const CACHE_TTL = page === 'README.md' ? '15s' : '10s';
      const rig = await startLoadedRig({
        env: { CACHE_TTL, MANAGEMENT_TOKEN: 'an-outage-rehearsal' },
        emulator: { banks: ALL_BANKS },
      });
      const shown: string[] = [];
      const seen: string[] = [];
      for (const { command, output, lead } of exchangesOf(page)) {
        const [, seconds] = /^(\d+) seconds later/.exec(lead) ?? [];
        if (seconds) await pass(Number(seconds), rig);
        shown.push(command, mask(output));
        seen.push(command, mask(await run(command, rig)));
      }
      expect(seen).toEqual(shown);
    },
  );

  test("the README's script gets the list", async () => {
    const [, script = ''] = /```js\n([^]*?)```/.exec(read('README.md')) ?? [];
    const { url } = await startLoadedRig();
    const here = script.replace('http://localhost:3000', url);
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--input-type=module',
      '-e',
      here,
    ]);
    expect(stdout).toBe(`${BANKS.length} BCO DO BRASIL S.A.\n`);
  });
});

test('SECURITY.md has the limits for clients as they are', () => {
  const inSeconds = (ms: number): string => `${ms / 1_000} s`;
  const inWords = (count: number): string => count.toLocaleString('en');
  const text = read('SECURITY.md').replaceAll(/ +/g, ' ');
  for (const told of [
    `| connections | ${inWords(LIMITS.connections)} |`,
    `| header section | ${MAX_HEADER_BYTES / 1_024} KiB, ${MAX_HEADERS} headers |`,
    `| time for the header section | ${inSeconds(LIMITS.headersTimeoutMs)}, checked every second |`,
    `| a response that the client does not read | ${inSeconds(LIMITS.slowReaderMs)} for what `,
  ])
    expect(text).toContain(told);
  expect(LIMITS.checkIntervalMs).toBe(1_000);
});

test("the README's configuration for production is valid, and refuses a first list that is far too short", () => {
  const [, text = ''] = /```ini\n([^]*?)```/.exec(read('README.md')) ?? [];
  const { provider, guard } = parseConfig(parseEnv(text));
  expect(provider.environment).toBe('production');
  expect(guard.minBanks).toBeGreaterThan(100);
});

test('each kind of failure is explained as on the status page, and leads to the error that docs/api.md says', () => {
  const rowsOf = (page: string): string[] => read(page).match(/^\|.*$/gm) ?? [];
  /** A row without what only Markdown has. */
  const plain = (row: string): string =>
    row
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replaceAll('`', '')
      .replaceAll(/ +/g, ' ');
  const explained = rowsOf('docs/operations.md').map(plain);
  for (const kind of LOAD_ERROR_KINDS) {
    const { status, code } = problemOf(FAILURE_KINDS[kind].problem);
    const told = rowsOf('docs/api.md').filter((row) => row.includes(`\`${kind}\``));
    expect([kind, told]).toEqual([kind, [expect.stringContaining(`${status} \`${code}\``)]]);
    const row = `| ${kind} | ${FAILURE_KINDS[kind].summary} |`;
    expect(explained).toContain(row.replaceAll('’', "'").replaceAll(/[“”]/g, '"'));
  }
});

test('each alert leads to the section that explains it', () => {
  const rules = read(ALERT_RULES);
  const runbooks = find(/runbook: docs\/operations\.md#(\w+)/g, rules);
  expect(runbooks).toEqual(find(/- alert: (\w+)/g, rules).map((alert) => alert.toLowerCase()));
  expect(anchorsOf('docs/operations.md')).toEqual(expect.arrayContaining(runbooks));
});

test('each kind of failure is in one alert', () => {
  const kinds = find(/banks_refresh_failing\{kind=~"([^"]*)"\}/g, read(ALERT_RULES)).flatMap(
    (alternatives) => alternatives.split('|'),
  );
  // An unusable file has an alert of its own, by banks_secret_file_usable.
  const expected = LOAD_ERROR_KINDS.filter((kind) => kind !== 'unusable_file');
  expect(kinds.toSorted()).toEqual(expected.toSorted());
});

test('docs/architecture.md gives a reason for every runtime dependency, and for no other', () => {
  const [, table = ''] = read('docs/architecture.md').split('## Dependencies');
  const rows = find(/^\| `([^`]+)`/gm, table);
  expect(new Set(rows)).toEqual(new Set(Object.keys(MANIFEST.dependencies ?? {})));
});
