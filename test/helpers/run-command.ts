import { tmpdir } from 'node:os';
import type { CommandContext } from '../../src/commands/command-line.ts';
import type { EnvironmentVariables } from '../../src/config/variables.ts';
import { createRedaction } from '../../src/secrets/redaction.ts';

// A command in this process, run to its end.

export interface CommandResult {
  readonly status: number;
  /** What it wrote to standard output and standard error, before it was redacted. */
  readonly text: string;
}

/** The working directory of the process is changed, so a second one would not find its way back. */
let isRunning = false;

/** @param directory where it looks for .env; not the repository, where a developer has one */
export const runCommand = async (
  command: (context: CommandContext) => Promise<number>,
  env: EnvironmentVariables,
  directory = tmpdir(),
): Promise<CommandResult> => {
  if (isRunning) throw new Error('run one command after the other');
  isRunning = true;
  let text = '';
  const repository = process.cwd();
  process.chdir(directory);
  const context = {
    version: 'test',
    env: { ...env },
    redaction: createRedaction(),
    write: (written: string) => void (text += written),
    writeError: (written: string) => void (text += `${written}\n`),
  };
  const status = await command(context).finally(() => {
    process.chdir(repository);
    isRunning = false;
  });
  return { status, text };
};
