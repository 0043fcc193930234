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
const SECRETS = [
  'emulator-access-token',
  'emulator-secret',
  'SECRET-',
  INTERNAL_DETAIL,
  'Bearer ey',
  'authorization',
];

/** In their order. */
export const STEPS_OF_LOAD = ['configuration', 'token', 'address', 'response', 'list'];

/** For a sandbox and with free ports unless `env` says otherwise. @param secrets more of them */
export const runDoctor = async (env: EnvironmentVariables, secrets: readonly string[] = []) => {
  const { status, text } = await runCommand(doctor, { ...SANDBOX, ...env });
  expect(leaksIn(text, new Map([...SECRETS, ...secrets].map((it) => [it, it])))).toEqual([]);
  return {
    status,
    text,
    /** The names of the steps of the load with this result, in their order. */
    steps: (result: 'ok' | 'note' | 'ok|note' | 'FAIL'): string[] =>
      [...text.matchAll(new RegExp(`^(?:${result}) +(\\S+)`, 'gm'))]
        .map(([, name = '']) => name)
        .filter((name) => STEPS_OF_LOAD.includes(name)),
    /** The lines about one step; empty if it is not reported. */
    linesOf: (step: string): string =>
      new RegExp(`^\\S+ +${step} .*(?:\\n {6}.*)*`, 'm').exec(text)?.[0] ?? '',
  };
};

/** What a failure says: its step, words of its line, and a variable that may change it. */
export type Failure = readonly [step: string, says: RegExp, variable: string];

/** Nothing but this step fails. Without the load's steps the list can be served. */
export const expectFailure = (
  { status, text, steps, linesOf }: DoctorReport,
  [step, says, variable]: Failure,
): void => {
  expect(status).toBe(1);
  expect(linesOf(step)).toMatch(/^FAIL /);
  expect(linesOf(step)).toMatch(says);
  if (!STEPS_OF_LOAD.includes(step)) {
    expect(linesOf(step)).toMatch(new RegExp(`^ {6}variables +${variable}$`, 'm'));
    expect(text).toContain(`can serve a list. But it does not all work: ${step}.`);
    return;
  }
  expect([steps('FAIL'), steps('ok|note')]).toEqual([
    [step],
    STEPS_OF_LOAD.slice(0, STEPS_OF_LOAD.indexOf(step)),
  ]);
  expect(linesOf(step)).toMatch(/^ {6}means +\S/m);
  if (variable !== '')
    expect(linesOf(step)).toMatch(new RegExp(`^ {6}variables .*\\b(?:${variable})(?!\\w)`, 'm'));
  expect(text).toContain('This configuration cannot serve a list.');
  // That concerns a running service.
  expect(text).not.toMatch(/next attempt is made/);
};
