import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { execFile, execFileSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { startEmulator, type Emulator } from '../../emulator/emulator.ts';
import { needProgram } from '../kit/needs.ts';
import { runProgram, type Program } from '../kit/program.ts';
import { eventually } from '../kit/rig.ts';
import { SANDBOX } from '../kit/sandbox.ts';
import { unitVariables, valuesOf } from '../kit/unit.ts';

// The release's archive, unpacked where nothing can be written and run by the unit's command line with the unit's variables:
// as user nobody where the tests are root's, otherwise as their own user.

const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

const { program: setpriv, describeWithIt } = needProgram(
  ['setpriv'],
  'On Debian: apt-get install util-linux',
);

describeWithIt('the archive', () => {
  let folder: string;
  let archive: string;
  let emulator: Emulator;
  let program: Program | undefined;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'banks-archive-'));
    archive = execFileSync('bash', ['scripts/archive.sh', folder], {
      // oxlint-disable-next-line node/no-process-env -- the time, because a container may hide git's
      env: { ...process.env, SOURCE_DATE_EPOCH: '0' },
      encoding: 'utf8',
    }).trim();
    emulator = await startEmulator();
  });
  afterAll(async () => {
    program?.child.kill('SIGKILL');
    await emulator.close();
    execFileSync('chmod', ['-R', 'u+w', folder]);
    rmSync(folder, { recursive: true });
  });

  test('runs as another user from a tree that nobody can write, and keeps its list in the state directory', async () => {
    execFileSync('tar', ['--extract', '--gzip', '--file', archive, '--directory', folder]);
    const tree = join(folder, basename(archive, '.tar.gz'));
    const [state, credentials] = [join(folder, 'state'), join(folder, 'credentials')];
    for (const path of [join(state, 'banks-bff'), credentials]) mkdirSync(path, { recursive: true });
    for (const line of valuesOf('LoadCredential'))
      writeFileSync(join(credentials, line.split(':')[0] ?? ''), 'emulator-access-token\n');
    if (isRoot) chownSync(join(state, 'banks-bff'), NOBODY, NOBODY);
    execFileSync('chmod', ['-R', 'a-w,a+rX', tree]);
    execFileSync('chmod', ['a+rx', folder]);

    const [node = '', ...args] = (valuesOf('ExecStart')[0] ?? '').split(' ');
    expect(node).toBe('/usr/bin/node');
    const other = isRoot ? [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'] : [];
    const specifiers = (value: string): string => value.replace('%d', credentials).replace('%S', state);
    program = runProgram(setpriv, {
      args: [...other, process.execPath, ...args],
      cwd: tree,
      env: {
        PATH: '/usr/bin:/bin',
        ...Object.fromEntries(
          Object.entries(unitVariables()).map(([name, value]) => [name, specifiers(value)]),
        ),
        ...SANDBOX,
        // Its token is in a file.
        PROVIDER_ACCESS_TOKEN: '',
        PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl,
      },
    });
    const [, url = '', operatorsUrl = ''] = await program.says(/"url":"([^"]+)","operatorsUrl":"([^"]+)"/);
    const { stdout } = await promisify(execFile)('curl', ['-s', `${url}/banks`]);
    expect(JSON.parse(stdout)).toHaveLength(513);
    for (const path of ['/', '/status-page.css', '/status-page.js'])
      expect((await fetch(`${operatorsUrl}${path}`)).status).toBe(200);
    const saved = join(state, 'banks-bff', 'banks.json');
    await eventually(() => existsSync(saved));
    program.child.kill('SIGINT');
    expect(await program.exit).toBe(0);
    // The unit gives it more time than it takes.
    const [, graceMs] = /"graceMs":(\d+)/.exec(program.output()) ?? [];
    expect(Number.parseInt(valuesOf('TimeoutStopSec')[0] ?? '', 10) * 1_000).toBeGreaterThan(Number(graceMs));
  }, 90_000);
});
