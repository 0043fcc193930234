import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { needProgram } from '../kit/needs.ts';
import { read } from '../kit/repository.ts';
import { UNIT } from '../kit/unit.ts';

// What systemd itself says of the unit. That the service runs with what it sets: archive.test.ts.

const { describeWithIt } = needProgram(['systemd-analyze'], 'On Debian: apt-get install systemd');

describeWithIt('systemd', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'banks-unit-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** The status and the output of systemd-analyze about `text` as the unit. */
  const analyze = (text: string, ...args: string[]): { status: number | null; written: string } => {
    const file = join(folder, 'banks-bff.service');
    writeFileSync(file, text);
    const { status, stdout, stderr } = spawnSync('systemd-analyze', [...args, file], { encoding: 'utf8' });
    return { status, written: stdout + stderr };
  };

  test('finds nothing wrong with the unit', () => {
    // Where Node is on this machine: systemd looks whether the program exists.
    const here = read(UNIT).replace('/usr/bin/node', process.execPath);
    expect(analyze(here, 'verify', '--man=no')).toEqual({ status: 0, written: '' });
  });

  test('rates its exposure at 1.3 of 10 at most', () => {
    // The threshold is in tenths.
    const { status, written } = analyze(
      read(UNIT),
      'security',
      '--offline=true',
      '--threshold=13',
      '--no-pager',
    );
    expect(written).toMatch(/exposure level .*: \S+/);
    expect(status).toBe(0);
  });
});
