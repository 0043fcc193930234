import { expect, test } from '@jest/globals';
import { execFileSync, spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { closeLater } from '../helpers/close-later.ts';
import { runProgram, SIGUSR1_BEFORE_THE_PROGRAM } from '../helpers/program.ts';
import { BANKS, emulate } from '../helpers/emulate.ts';
import { needProgram } from '../helpers/needs.ts';
import { LISTENING } from '../helpers/process.ts';
import { read } from '../helpers/repository.ts';
import { SANDBOX } from '../helpers/sandbox.ts';
import { eventually } from '../helpers/wait-until.ts';
import { temporaryFile, temporaryFolder } from '../helpers/temporary-folder.ts';

// The unit for systemd: what systemd itself says of it, and the release's archive, unpacked where
// nothing can be written and run by the unit's command line with the unit's variables: as user
// nobody where the tests are root's, otherwise as their own user.

const UNIT = read('deploy/systemd/banks-bff.service');
/** The values of `key`, in order. */
const valuesOf = (key: string): string[] =>
  [...UNIT.matchAll(new RegExp(String.raw`^${key}=(.*)$`, 'gm'))].map(([, value = '']) => value);

/**
 * The variables that the unit sets; the rest comes from the operator's file. An assignment with a
 * space is quoted.
 */
const unitVariables = (): Record<string, string> =>
  Object.fromEntries(
    valuesOf('Environment').map((line) =>
      line
        .replace(/^"(.*)"$/, '$1')
        .split(/=(.*)/s)
        .slice(0, 2),
    ),
  );

const { describeWithIt: describeWithSystemd } = needProgram(
  ['systemd-analyze'],
  'On Debian: apt-get install systemd',
);

describeWithSystemd('systemd', () => {
  /** The status and the output of systemd-analyze about `text` as the unit. */
  const analyze = (text: string, ...args: string[]): { status: number | null; written: string } => {
    const file = temporaryFile(text, 'banks-bff.service');
    const { status, stdout, stderr } = spawnSync('systemd-analyze', [...args, file], {
      encoding: 'utf8',
    });
    return { status, written: stdout + stderr };
  };

  test('finds nothing wrong with the unit', () => {
    // Where Node is on this machine: systemd looks whether the program exists.
    const here = UNIT.replace('/usr/bin/node', process.execPath);
    expect(analyze(here, 'verify', '--man=no')).toEqual({ status: 0, written: '' });
  });

  test('rates its exposure at 1.3 of 10 at most', () => {
    const inTenths = '--threshold=13';
    expect(analyze(UNIT, 'security', '--offline=true', inTenths, '--no-pager')).toEqual({
      status: 0,
      written: expect.stringMatching(/exposure level .*: \S+/),
    });
  });
});

const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

const { program: setpriv, describeWithIt: describeWithSetpriv } = needProgram(
  ['setpriv'],
  'On Debian: apt-get install util-linux',
);

describeWithSetpriv('the archive', () => {
  test('runs as another user from a tree that nobody can write, keeps its list in the state directory, and opens no debugger', async () => {
    const folder = temporaryFolder('banks-archive-');
    closeLater(() => execFileSync('chmod', ['-R', 'u+w', folder]));
    const archive = execFileSync('bash', ['tools/archive.sh', folder], {
      // oxlint-disable-next-line node/no-process-env -- the time, because a container may hide git's
      env: { ...process.env, SOURCE_DATE_EPOCH: '0' },
      encoding: 'utf8',
    }).trim();
    execFileSync('tar', ['--extract', '--gzip', '--file', archive, '--directory', folder]);
    const tree = join(folder, basename(archive, '.tar.gz'));
    const [state, credentials] = [join(folder, 'state'), join(folder, 'credentials')];
    for (const path of [join(state, 'banks-bff'), credentials])
      mkdirSync(path, { recursive: true });
    for (const line of valuesOf('LoadCredential'))
      writeFileSync(join(credentials, line.split(':')[0] ?? ''), 'emulator-access-token\n');
    if (isRoot) chownSync(join(state, 'banks-bff'), NOBODY, NOBODY);
    execFileSync('chmod', ['-R', 'a-w,a+rX', tree]);
    execFileSync('chmod', ['a+rx', folder]);

    const [node = '', ...args] = (valuesOf('ExecStart')[0] ?? '').split(' ');
    expect(node).toBe('/usr/bin/node');
    const other = isRoot ? [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'] : [];
    const ofUnit = Object.entries(unitVariables()).map(([name, value]) => [
      name,
      value.replace('%d', credentials).replace('%S', state),
    ]);
    const { baseUrl } = await emulate();
    const { says, child, exit, output } = runProgram(setpriv, {
      args: [...other, process.execPath, ...SIGUSR1_BEFORE_THE_PROGRAM, ...args],
      cwd: tree,
      env: {
        PATH: '/usr/bin:/bin',
        ...Object.fromEntries(ofUnit),
        ...SANDBOX,
        // Its token is in a file.
        PROVIDER_ACCESS_TOKEN: '',
        PROVIDER_SANDBOX_BASE_URL: baseUrl,
      },
    });
    closeLater(() => child.kill('SIGKILL'));
    const [, url = '', managementUrl = ''] = await says(LISTENING);
    expect(await (await fetch(`${url}/banks`)).json()).toHaveLength(BANKS.length);
    expect(output()).not.toContain('Debugger listening');
    for (const path of ['/', '/status-page.css', '/status-page.js'])
      expect((await fetch(`${managementUrl}${path}`)).status).toBe(200);
    await eventually(() => existsSync(join(state, 'banks-bff', 'banks.json')));
    child.kill('SIGINT');
    expect(await exit).toBe(0);
    // The unit gives it more time than it takes.
    const [, graceMs] = /"graceMs":(\d+)/.exec(output()) ?? [];
    expect(Number.parseInt(valuesOf('TimeoutStopSec')[0] ?? '', 10) * 1_000).toBeGreaterThan(
      Number(graceMs),
    );
  }, 90_000);
});
