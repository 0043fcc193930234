import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Environment } from '../../src/config/reader.ts';
import { runNode } from './program.ts';

/** Runs the built doctor to its end, in an empty directory, for a sandbox and with free ports unless `env` says otherwise. */
export const runDoctor = async (
  env: Environment,
): Promise<{ readonly status: number | null; readonly text: string }> => {
  const { exit, output } = runNode(resolve('dist/src/main.js'), {
    programArgs: ['doctor'],
    cwd: mkdtempSync(join(tmpdir(), 'banks-bff-')),
    env: {
      PROVIDER_ENVIRONMENT: 'sandbox',
      BANK_FIELDS: 'code,ispb,name',
      PORT: '0',
      MANAGEMENT_PORT: '0',
      ...env,
    },
  });
  const status = await exit;
  return { status, text: output() };
};
