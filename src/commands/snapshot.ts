import { isOverridable } from '../banks/guard/guard.ts';
import { systemClock } from '../clock.ts';
import { ConfigError, secretsOf, type Config } from '../config/config.ts';
import { readConfig } from '../config/environment.ts';
import { whyNoSnapshot } from '../config/snapshot-path.ts';
import { createCore } from '../core.ts';
import { printable } from '../printable.ts';
import type { CommandContext } from './command-line.ts';

/**
 * Loads the list once, as the service does, and saves it to `file`, for a service that finds it in
 * CACHE_SNAPSHOT_FILE. A list that is there already is what the guard compares the new one with.
 * Redis is not used. @returns 0 once the list is saved
 */
export const snapshot = async (file: string, context: CommandContext): Promise<number> => {
  const { env, redaction, write, writeError } = context;
  const shown = printable(file);
  const fail = (why: string): number => {
    writeError(`No list was saved. ${why}`);
    return 1;
  };
  const problem = await whyNoSnapshot(file);
  if (problem !== undefined) return fail(`${shown}: ${problem}.`);
  env['CACHE_SNAPSHOT_FILE'] = file;
  let config: Config;
  try {
    ({ config } = await readConfig(env));
  } catch (error) {
    if (error instanceof ConfigError) return fail(error.message);
    throw error;
  }
  for (const [variable, secret] of secretsOf(config)) redaction.addSecret(variable, secret);
  const { failure, unwritten, count } = await loadOnce(config, context);
  if (failure)
    return fail(
      isOverridable(failure.kind)
        ? `Compared with the list in ${shown}, ${failure.message}. To save it all the same, remove that file first.`
        : `The list could not be loaded: ${failure.message}. The command doctor reports each step.`,
    );
  if (unwritten !== undefined) return fail(`${shown} ${unwritten}.`);
  write(`${shown}: ${count} banks\n`);
  return 0;
};

/** One load by the service's core. `unwritten` is why the list is not in the file. */
const loadOnce = async (config: Config, { version, redaction }: CommandContext) => {
  let unwritten: string | undefined;
  const core = createCore(
    { ...config, cache: { ...config.cache, redisUrl: undefined } },
    {
      version,
      clock: systemClock,
      random: Math.random,
      addSecret: redaction.addSecret,
      findEcho: redaction.findEcho,
      emit: (event) => {
        if (event.type === 'store-failed') unwritten = event.reason;
        else if (event.type === 'store-recovered') unwritten = undefined;
      },
    },
  );
  await core.restore();
  const failure = await core.list.refresh();
  const { cached } = core.list.status();
  // Resolves once the list has been written.
  await core.stop();
  return { failure, unwritten, count: cached?.count ?? 0 };
};
