import { tmpdir } from 'node:os';
import { expect } from '@jest/globals';
import { INTERNAL_DETAIL } from '../../emulator/answers.ts';
import { doctor } from '../../src/commands/doctor.ts';
import type { EnvironmentVariables } from '../../src/config/variables.ts';
import { createRedaction } from '../../src/secrets/redaction.ts';
import { leaksIn } from './leaks.ts';
import { SANDBOX } from './sandbox.ts';

// The doctor in this process. Nothing redacts what it writes: no secret may be in it even so.

export type DoctorReport = Awaited<ReturnType<typeof runDoctor>>;

/** What no report may contain. */
const SECRETS = new Map(
  [
    'emulator-access-token',
    'emulator-secret',
    'SECRET-',
    INTERNAL_DETAIL,
    'Bearer ey',
    'authorization',
  ].map((text) => [text, text]),
);

/** Steps that do not concern the load. */
const SURROUNDINGS = ['redis', 'snapshot', 'port', 'management'];

/** The working directory of the process is changed, so a second one would not find its way back. */
let isRunning = false;

/** For a sandbox and with free ports unless `env` says otherwise. */
export const runDoctor = async (env: EnvironmentVariables) => {
  if (isRunning) throw new Error('run one doctor after the other');
  isRunning = true;
  let text = '';
  const repository = process.cwd();
  // Not in the repository, where a developer's .env file may be.
  process.chdir(tmpdir());
  const status = await doctor({
    version: 'test',
    env: { ...SANDBOX, ...env },
    redaction: createRedaction(),
    write: (written) => void (text += written),
  }).finally(() => {
    process.chdir(repository);
    isRunning = false;
  });
  expect(leaksIn(text, SECRETS)).toEqual([]);
  return {
    status,
    text,
    /** The names of the steps of the load with this result, in their order. */
    steps: (result: 'ok' | 'note' | 'ok|note' | 'FAIL'): string[] =>
      [...text.matchAll(new RegExp(`^(?:${result}) +(\\S+)`, 'gm'))]
        .map(([, name = '']) => name)
        .filter((name) => !SURROUNDINGS.includes(name)),
    /** The lines about one step; empty if it is not reported. */
    linesOf: (step: string): string =>
      new RegExp(`^\\S+ +${step} .*(?:\\n {6}.*)*`, 'm').exec(text)?.[0] ?? '',
  };
};
