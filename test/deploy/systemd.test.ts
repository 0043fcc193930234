import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseConfig } from '../../src/config/config.ts';
import { VARIABLES } from '../../src/config/variables.ts';
import { needProgram } from '../kit/needs.ts';
import { read } from '../kit/repository.ts';
import { UNIT, unitVariables, valuesOf } from '../kit/unit.ts';

// The unit for systemd, held against the code and against systemd's own checks.

const unit = read(UNIT);
const env = unitVariables();

test("the unit's variables are the service's, and its secrets are credentials", () => {
  const ours = Object.keys(env).filter((name) => !/^(?:NODE|MALLOC)_/.test(name));
  expect(Object.keys(VARIABLES)).toEqual(expect.arrayContaining(ours));
  const files = ours.filter((name) => name.endsWith('TOKEN_FILE')).map((name) => env[name]);
  expect(files).toEqual(valuesOf('LoadCredential').map((line) => `%d/${line.split(':')[0]}`));
});

test('the unit with a minimal file of variables is a good configuration, and stops later than the service', () => {
  const ours = Object.entries(env).filter(([name]) => !name.startsWith('NODE_'));
  const config = parseConfig({
    ...Object.fromEntries(ours),
    PROVIDER_ENVIRONMENT: 'production',
    PROVIDER_PRODUCTION_BASE_URL: 'https://api.example.com',
    BANK_FIELDS: 'code,ispb,name',
  });
  expect(config.provider.token).toMatchObject({ kind: 'given', token: { path: expect.anything() } });
  const [stopSeconds = ''] = valuesOf('TimeoutStopSec');
  expect(Number.parseInt(stopSeconds, 10)).toBeGreaterThan(config.shutdownGraceMs / 1_000);
});

const { describeWithIt } = needProgram(['systemd-analyze'], 'On Debian: apt-get install systemd');

describeWithIt('systemd', () => {
  let folder: string;
  let file: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'banks-unit-'));
    file = join(folder, 'banks-bff.service');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const analyze = (...args: string[]): { status: number | null; written: string } => {
    const { status, stdout, stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
    return { status, written: stdout + stderr };
  };

  test('finds nothing wrong with the unit', () => {
    // Where Node is on this machine: systemd looks whether the program exists.
    writeFileSync(file, unit.replace('/usr/bin/node', process.execPath));
    expect(analyze('verify', '--man=no', file)).toEqual({ status: 0, written: '' });
  });

  test('rates its exposure at 1.3 of 10 at most', () => {
    writeFileSync(file, unit);
    // The threshold is in tenths.
    const { status, written } = analyze('security', '--offline=true', '--threshold=13', '--no-pager', file);
    expect({ status, level: /exposure level .*: (\S+)/.exec(written)?.[1] }).toEqual({
      status: 0,
      level: expect.any(String),
    });
  });
});
