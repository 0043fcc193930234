import { expect } from '@jest/globals';
import { INTERNAL_DETAIL } from '../../emulator/answers.ts';
import { doctor } from '../../src/commands/doctor.ts';
import type { EnvironmentVariables } from '../../src/config/variables.ts';
import { leaksIn } from './leaks.ts';
import { runCommand } from './run-command.ts';
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

/** For a sandbox and with free ports unless `env` says otherwise. */
export const runDoctor = async (env: EnvironmentVariables) => {
  const { status, text } = await runCommand(doctor, { ...SANDBOX, ...env });
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
