import { isServableAt } from '../banks/freshness.ts';
import { LoadError } from '../banks/load-error.ts';
import { systemClock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { formatCount } from '../format.ts';
import type { PartsOptions } from '../parts.ts';
import { describeFields, explainList } from './list.ts';
import { tryLoad } from './load.ts';
import { tryPorts } from './ports.ts';
import { formatBytes, renderStep, type Step } from './report.ts';
import { tryRedis, trySnapshot } from './stores.ts';

// Whether a valid configuration works: one load from the provider, then each store and each port
// once. The report has a line for each step, and no secret.

export const CANNOT_SERVE = 'This configuration cannot serve a list.';

export const examine = async (config: Config, options: PartsOptions) => {
  const load = await tryLoad(config, options);
  const { parts, outcome, body } = load;
  const { snapshotFile } = config.cache;
  const content = outcome instanceof LoadError ? Buffer.from('doctor') : outcome.json;
  const stores = [
    ...(config.secrets.CACHE_REDIS_URL ? [await tryRedis(config, parts)] : []),
    ...(snapshotFile === undefined ? [] : [await trySnapshot(snapshotFile, parts, content)]),
  ];
  // What a service would hold that started now.
  const held = stores
    .map(({ saved }) => saved)
    .find((saved) => saved && isServableAt(saved, systemClock.monotonicMs(), config.cache));
  const list = body && explainList(config, load, held);
  const steps: readonly Step[] = [
    { name: 'configuration', result: 'ok', message: describeConfig(config) },
    ...load.steps,
    ...(list ? [list] : []),
    ...stores.map(({ step }) => step),
    ...(await tryPorts(config)),
  ];
  const failed = steps.filter(({ result }) => result === 'FAIL').map(({ name }) => name);
  const isServed = list !== undefined && list.result !== 'FAIL';
  const verdict = isServed ? 'This configuration can serve a list.' : CANNOT_SERVE;
  const rest =
    isServed && failed.length > 0 ? ` But it does not all work: ${failed.join(', ')}.` : '';
  const fields = body ? describeFields(config, body, isServed) : [];
  const lines = [...steps.flatMap(renderStep), ...fields, '', verdict + rest, ''];
  return { text: lines.join('\n'), works: failed.length === 0 };
};

const describeConfig = ({ provider, banks }: Config): string => {
  const fields = banks.fields ? formatCount(banks.fields.length, 'field', 'fields') : 'every field';
  return `${provider.environment}, ${provider.baseUrl.href}, at most ${provider.timeoutMs} ms and ${formatBytes(provider.maxBodyBytes)}; publishes ${fields}`;
};
