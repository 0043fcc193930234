import { createBankList } from '../banks/bank-list.ts';
import { createSoleReplica } from '../banks/fleet.ts';
import { isOverridable } from '../banks/guard.ts';
import { LoadError } from '../banks/load-error.ts';
import { systemClock } from '../clock.ts';
import { ConfigError, type Config } from '../config/config.ts';
import { readConfig } from '../config/environment.ts';
import { whyNoSnapshot } from '../config/snapshot-path.ts';
import { formatCount, printable } from '../format.ts';
import { createParts } from '../parts.ts';
import { createSnapshotFile } from '../sharing/snapshot-file.ts';
import { createStoreReport, StoreError } from '../sharing/store-report.ts';
import type { CommandContext } from './command-line.ts';

/**
 * Loads the list once, as the service does, and saves it to `file`, for a service that finds it in
 * CACHE_SNAPSHOT_FILE. A list that is there already is what the guard compares the new one with.
 * Redis is not used. @returns 0 once the list is saved
 */
export const snapshot = async (file: string, context: CommandContext): Promise<number> => {
  const { env, write, writeError } = context;
  const shown = printable(file);
  const fail = (why: string): number => {
    writeError(`No list was saved. ${why}`);
    return 1;
  };
  const problem = await whyNoSnapshot(file);
  if (problem !== undefined) return fail(`${shown}: ${problem}.`);
  // In `env` itself, and not in a copy: the secrets are to be deleted from it.
  env['CACHE_SNAPSHOT_FILE'] = file;
  try {
    const { config } = await readConfig(env);
    const count = await saveList(config, file, context);
    write(`${shown}: ${formatCount(count, 'bank', 'banks')}\n`);
    return 0;
  } catch (error) {
    if (error instanceof ConfigError) return fail(error.message);
    if (error instanceof StoreError) return fail(`${shown} ${error.message}.`);
    if (!(error instanceof LoadError)) throw error;
    return fail(
      isOverridable(error.kind)
        ? `Compared with the list in ${shown}, ${error.message}. To save it all the same, remove that file first.`
        : `The list could not be loaded: ${error.message}. The command doctor reports each step.`,
    );
  }
};

/** @returns how many banks the list has @throws {LoadError} @throws {StoreError} */
const saveList = async (config: Config, path: string, context: CommandContext): Promise<number> => {
  const clock = systemClock;
  const { provider, envelope, guardPolicy } = createParts(config, context);
  const report = createStoreReport('CACHE_SNAPSHOT_FILE', clock);
  const file = createSnapshotFile({ path, envelope, clock, report });
  const list = createBankList({
    policy: config.cache,
    guard: guardPolicy,
    loadTimeoutMs: config.provider.timeoutMs,
    load: provider.load,
    fleet: createSoleReplica(clock),
    clock,
    random: Math.random,
    emit: () => undefined,
  });
  await list.restore(await file.read());
  // Asked for before the start, it is the first load, and the only one.
  const refreshed = list.refresh();
  list.start();
  const result = await refreshed;
  await list.stop();
  provider.close();
  if (result.outcome === 'failed') throw result.error;
  const { cached } = list.status();
  if (cached) file.save(cached);
  await file.stop();
  const { failing } = report.state();
  if (failing) throw new StoreError(failing.reason);
  return cached?.count ?? 0;
};
