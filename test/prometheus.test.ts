import { afterEach, expect, jest, test } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { startEmulatorProcess, startProcess } from './kit/process.ts';
import { runProgram, type Program } from './kit/program.ts';
import { describeWithPromtool } from './kit/promtool.ts';

// A heavy proof: a real Prometheus scrapes the built service through an outage, and the rules as they are deployed
// fire and clear. Only their waits are shortened, as the list's lifetime is.

const RULES = new URL('../deploy/prometheus/banks-bff.rules.yml', import.meta.url);

let prometheus: Program | undefined;
let directory: string;
afterEach(async () => {
  prometheus?.child.kill('SIGKILL');
  await prometheus?.exit;
  rmSync(directory, { recursive: true, force: true });
});

/** Gives what tells the names of the alerts that fire now. */
const startPrometheus = async (target: string): Promise<() => Promise<string[]>> => {
  directory = mkdtempSync(join(tmpdir(), 'banks-bff-'));
  const rules = readFileSync(RULES, 'utf8').replaceAll(/for: \w+/g, 'for: 400ms');
  writeFileSync(join(directory, 'rules.yml'), rules.replaceAll('[15m]', '[4s]'));
  const config = {
    global: { scrape_interval: '200ms', scrape_timeout: '200ms', evaluation_interval: '200ms' },
    rule_files: ['rules.yml'],
    scrape_configs: [{ job_name: 'banks-bff', static_configs: [{ targets: [target] }] }],
  };
  writeFileSync(join(directory, 'prometheus.yml'), JSON.stringify(config));
  const args = [
    '--config.file=prometheus.yml',
    '--web.listen-address=127.0.0.1:0',
    '--storage.tsdb.path=data',
  ];
  prometheus = runProgram('prometheus', { args, cwd: directory });
  const [, address] = await prometheus.says(/msg="Listening on" address=(\S+)/);
  return async () => {
    const answer = await fetch(`http://${address}/api/v1/alerts`).catch(() => undefined);
    if (!answer) return ['Prometheus does not answer'];
    const text = await answer.text();
    return [...text.matchAll(/"alertname":"(\w+)"[^}]*\}[^}]*\}?,"state":"firing"/g)].map(
      ([, name = '']) => name,
    );
  };
};

describeWithPromtool('Prometheus', () => {
  jest.setTimeout(60_000);

  test('fires each alert of an outage, and clears them when the provider is back', async () => {
    const emulator = await startEmulatorProcess();
    const service = await startProcess({
      PROVIDER_ENVIRONMENT: 'sandbox',
      PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl,
      PROVIDER_ACCESS_TOKEN: 'emulator-access-token',
      BANK_FIELDS: 'code,name',
      CACHE_TTL: '1s',
      CACHE_MAX_STALE: '4s',
      LOG_LEVEL: 'info',
    });
    const [, operatorsUrl = ''] = service.urls();
    const firing = await startPrometheus(new URL(operatorsUrl).host);
    /** Asks until each of these has been seen to fire, or, where none is wanted, none does any more. */
    const settles = async (wanted: readonly string[]): Promise<boolean> => {
      const seen = new Set<string>();
      for (let tries = 0; tries < 200; tries += 1) {
        const now = await firing();
        for (const name of now) seen.add(name);
        if (wanted.length === 0 ? now.length === 0 : wanted.every((name) => seen.has(name))) return true;
        await setTimeout(100);
      }
      return false;
    };
    try {
      expect(await settles([])).toBe(true);
      await emulator.behave('unavailable');
      expect(
        await settles(['BanksProviderFailing', 'BanksListStale', 'BanksListNearItsEnd', 'BanksNoList']),
      ).toBe(true);
      await emulator.behave('healthy');
      expect(await settles([])).toBe(true);
      await emulator.behave('shrunk');
      expect(await settles(['BanksListRefused', 'BanksListStale'])).toBe(true);
      await emulator.behave('healthy');
      expect(await settles([])).toBe(true);
    } finally {
      await service.end('SIGKILL');
      emulator.end();
    }
  });
});
