import { randomInt } from 'node:crypto';
import { newId } from '../banks/fleet.ts';
import { guard, isOverridable, remember } from '../banks/guard.ts';
import { LoadError } from '../banks/load-error.ts';
import { represent } from '../banks/representation.ts';
import { systemClock } from '../clock.ts';
import { ConfigError, type Config } from '../config/config.ts';
import { readConfig } from '../config/environment.ts';
import { whyNoSnapshot } from '../config/snapshot-path.ts';
import { heldOf } from '../doctor/load-once.ts';
import { formatCount } from '../format-count.ts';
import { createParts } from '../parts.ts';
import { printable } from '../printable.ts';
import { SecretFileError } from '../secrets/secrets.ts';
import { createSnapshotFile, replaceFile } from '../sharing/snapshot-file.ts';
import { createStoreReport, describeStoreFailure, StoreError } from '../sharing/store-report.ts';
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
  env['CACHE_SNAPSHOT_FILE'] = file;
  try {
    const { config } = await readConfig(env);
    const count = await saveList(config, file, context);
    write(`${shown}: ${formatCount(count, 'bank', 'banks')}\n`);
    return 0;
  } catch (error) {
    if (error instanceof ConfigError) return fail(error.message);
    if (error instanceof StoreError || error instanceof SecretFileError)
      return fail(`${shown} ${describeStoreFailure(error)}.`);
    if (!(error instanceof LoadError)) throw error;
    return fail(
      isOverridable(error.kind)
        ? `Compared with the list in ${shown}, ${error.message}. To save it all the same, remove that file first.`
        : `The list could not be loaded: ${error.message}. The command doctor reports each step.`,
    );
  }
};

/** @returns how many banks the list has */
const saveList = async (config: Config, path: string, context: CommandContext): Promise<number> => {
  const { provider, envelope, guardPolicy } = createParts(config, context);
  const clock = systemClock;
  const report = createStoreReport('CACHE_SNAPSHOT_FILE', clock);
  const saved = await createSnapshotFile({ path, envelope, clock, report }).read();
  const base = heldOf(saved, config.cache);
  const [askedAtMs, askedAtWallMs] = [clock.monotonicMs(), clock.wallMs()];
  const last = base && { id: base.id, ageMs: askedAtMs - base.askedAtMs };
  const loaded = await provider.load().finally(provider.close);
  guard(loaded, base, guardPolicy, [], clock.monotonicMs());
  const list = {
    ...loaded,
    ...remember(base, loaded, false, clock.monotonicMs(), guardPolicy),
    id: newId(1_000 * askedAtWallMs, last, randomInt(1_000_000)),
    askedAtMs,
    changedAtMs: base?.json.equals(loaded.json) ? base.changedAtMs : askedAtWallMs,
    representations: await represent(loaded.json),
  };
  await replaceFile(path, await envelope.seal(list, clock.wallMs()));
  return list.count;
};
