import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createRandom } from '../../test/helpers/random.ts';
import { startRedis } from '../../test/helpers/redis-process.ts';
import { startClients } from './clients.ts';
import { causeFaults, MANAGEMENT_TOKEN } from './faults.ts';
import { createFindings } from './findings.ts';
import { createJudge, MAX_STALE_MS, TIMEOUT_MS, TTL_MS } from './judge.ts';
import { CLIENT_SECRET, startProvider } from './provider.ts';
import { startReplica, type Replica } from './replica.ts';
import { createTroubles } from './troubles.ts';

// npm run soak: an hour of faults, in real time. Two replicas of the built service share a Redis,
// while the provider, Redis and one of the replicas fail in every way. Each answer and each warning
// is checked. Needs redis-server.

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
  },
});
const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
if (!(minutes > 0 && Number.isInteger(seed))) throw new RangeError('--minutes, --seed: numbers');

/** The container's limit in deploy/kubernetes. */
const MAX_RSS_MB = 256;

const print = (text: string): void => void process.stdout.write(`${text}\n`);
print(`Node ${process.versions.node}, ${minutes} minutes, seed ${seed}`);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const folder = mkdtempSync(join(tmpdir(), 'banks-bff-soak-'));
const findings = createFindings();
const troubles = createTroubles();
const provider = await startProvider(troubles, createRandom(seed + 1));
const redis = await startRedis();
process.once('exit', () => void redis.kill());

/** No secret may be in anything that the service writes. */
const checkSecrets = (where: string, text: string): void => {
  for (const secret of [CLIENT_SECRET, MANAGEMENT_TOKEN, ...provider.tokens])
    for (const form of [secret, encodeURIComponent(secret), btoa(secret)])
      if (text.includes(form)) findings.violate(`a secret in ${where}`, text);
};
const UNEXPECTED =
  /"level":60|"kind":"internal"|"code":"internal_error"|"statusCode":500,|Warning: /;
const checkLog = (text: string): void => {
  checkSecrets('the log', text);
  for (const line of text.split('\n').filter(Boolean))
    if (!line.startsWith('{') || UNEXPECTED.test(line))
      findings.violate('an unexpected line', line);
};

const start = (name: Replica['name']): Promise<Replica> =>
  startReplica(name, {
    HOST: '127.0.0.1',
    PROVIDER_ENVIRONMENT: 'sandbox',
    PROVIDER_SANDBOX_BASE_URL: provider.emulator.baseUrl,
    PROVIDER_TOKEN_URL: provider.emulator.tokenUrl,
    PROVIDER_CLIENT_ID: 'emulator-client',
    PROVIDER_CLIENT_SECRET: CLIENT_SECRET,
    PROVIDER_TIMEOUT: `${TIMEOUT_MS}ms`,
    BANK_FIELDS: 'code,ispb,name',
    CACHE_TTL: `${TTL_MS}ms`,
    CACHE_MAX_STALE: `${MAX_STALE_MS}ms`,
    CACHE_REDIS_URL: redis.url,
    CACHE_SNAPSHOT_FILE: join(folder, name),
    KEEP_ALIVE_TIMEOUT: '5s',
    MANAGEMENT_TOKEN,
    TRUST_PROXY: '1',
    // A line for each request of an hour is too much to keep.
    LOG_LEVEL: 'warn',
    NODE_ENV: 'production',
  });
const steady = await start('steady');
const struck = await start('struck');

const judge = createJudge(provider, troubles);
const stopClients = startClients([steady, struck], judge, findings, createRandom(seed + 2));
const over = new AbortController();
const faults = causeFaults(
  { provider, redis, steady, struck, troubles, findings },
  createRandom(seed + 3),
  over.signal,
);
await wait(minutes * 60_000);
over.abort();
await faults;
await stopClients();

const metrics = await (await fetch(`${steady.managementUrl}/metrics`)).text();
checkSecrets('the metrics', metrics);
const [, bytes] = /^process_resident_memory_bytes (.+)$/m.exec(metrics) ?? [];
const residentMb = Number(bytes) / 2 ** 20;
if (!(residentMb < MAX_RSS_MB)) findings.violate(`${residentMb} MB resident`);
for (const replica of [steady, struck]) {
  if (!replica.runs()) findings.violate(`${replica.name} has ended by itself`);
  const status = await replica.end('SIGTERM');
  if (status !== 0)
    findings.violate(`exit status ${String(status)} of ${replica.name} after SIGTERM`);
  checkLog(replica.written());
  checkSecrets('the snapshot', readFileSync(join(folder, replica.name), 'utf8'));
}
await Promise.all([redis.kill(), provider.emulator.close()]);
rmSync(folder, { recursive: true });

for (const what of Object.keys(findings.counts).toSorted())
  print(`${String(findings.counts[what]).padStart(8)}  ${what}`);
print(`${residentMb.toFixed(0)} MB resident`);
print(`${findings.violations()} violations`);
process.exit(findings.violations() > 0 ? 1 : 0);
