import { createBankList } from '../banks/bank-list.ts';
import { createSoleReplica } from '../banks/fleet.ts';
import { isOverridable } from '../banks/guard.ts';
import { systemClock } from '../clock.ts';
import { ConfigError, secretSourcesOf, secretsOf, type Config } from '../config/config.ts';
import { readConfig } from '../config/environment.ts';
import { whyNoSnapshot } from '../config/snapshot-path.ts';
import { printable } from '../printable.ts';
import { createProvider } from '../provider/provider.ts';
import { createSecrets } from '../secrets/secrets.ts';
import { createEnvelope } from '../sharing/envelope.ts';
import { createSnapshotFile } from '../sharing/snapshot-file.ts';
import { createStoreReport } from '../sharing/store-report.ts';
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
  const { result, unwritten, count } = await loadOnce(config, file, context);
  if (result.outcome === 'failed')
    return fail(
      isOverridable(result.error.kind)
        ? `Compared with the list in ${shown}, ${result.error.message}. To save it all the same, remove that file first.`
        : `The list could not be loaded: ${result.error.message}. The command doctor reports each step.`,
    );
  if (unwritten !== undefined) return fail(`${shown} ${unwritten}.`);
  write(`${shown}: ${count} banks\n`);
  return 0;
};

/** `unwritten` is why the list is not in the file. */
const loadOnce = async (config: Config, path: string, { version, redaction }: CommandContext) => {
  const { provider: providerConfig, banks, cache } = config;
  const { addSecret, findEcho } = redaction;
  const [clock, random] = [systemClock, Math.random];
  const ignore = (): void => undefined;
  let unwritten: string | undefined;
  const secrets = createSecrets({ ...secretSourcesOf(config), addSecret, clock, onEvent: ignore });
  const provider = createProvider(config, {
    version,
    clock,
    random,
    secrets,
    addSecret,
    findEcho,
    onEvent: ignore,
  });
  const file = createSnapshotFile({
    path,
    clock,
    envelope: createEnvelope({
      provider: providerConfig,
      banks,
      policy: cache,
      clock,
      readKey: cache.signingKey && (() => secrets.read('CACHE_SIGNING_KEY')),
    }),
    report: createStoreReport('CACHE_SNAPSHOT_FILE', (event) => {
      if (event.type === 'store-failed') unwritten = event.reason;
      else if (event.type === 'store-recovered') unwritten = undefined;
    }),
  });
  const list = createBankList({
    policy: cache,
    guard: { ...config.guard, fields: banks.fields, maxStaleMs: cache.maxStaleMs },
    loadTimeoutMs: providerConfig.timeoutMs,
    load: provider.load,
    fleet: createSoleReplica(clock),
    save: file.save,
    clock,
    random,
    emit: ignore,
  });
  await list.restore(await file.read());
  const refreshed = list.refresh();
  list.start();
  const result = await refreshed;
  await list.stop();
  provider.close();
  // Resolves once the list has been written.
  await file.stop();
  return { result, unwritten, count: list.status().cached?.count ?? 0 };
};
