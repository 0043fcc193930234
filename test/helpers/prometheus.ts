import { spawnSync } from 'node:child_process';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { closeLater } from './close-later.ts';
import { findFreePort } from './free-port.ts';
import { needProgram } from './needs.ts';
import { runProgram } from './program.ts';
import { ALERT_RULES } from './repository.ts';

// A real Prometheus with the deployed alert rules, and promtool, its checker.

const INSTALL = 'On Debian: apt-get install prometheus';
const server = needProgram(['prometheus'], INSTALL);
const checker = needProgram(['promtool'], INSTALL);

/** `describe` for tests that start Prometheus. */
export const describeWithPrometheus = server.describeWithIt;

/** `describe` for tests that need promtool. */
export const describeWithPromtool = checker.describeWithIt;

/** Runs `promtool` and returns its output and exit status. */
export const promtool = (
  args: readonly string[],
  input = '',
): { status: number | null; said: string } => {
  const { status, stdout, stderr } = spawnSync('promtool', args, { input, encoding: 'utf8' });
  return { status, said: stdout + stderr };
};

/** With `for` and the windows of the alerts shortened; `folder` is for its files. */
export const startPrometheus = async (folder: string) => {
  const rules = await readFile(ALERT_RULES, 'utf8');
  const quickRules = rules
    .replaceAll(/for: \w+/g, 'for: 400ms')
    .replaceAll('[2h]', '[4s]')
    .replaceAll('< 3600', '< 4');
  await writeFile(join(folder, 'rules.yml'), quickRules);
  /**
   * What is scraped from now on: `host:port`. Prometheus watches the file, and would read half of
   * it.
   */
  const setTargets = async (targets: readonly string[]): Promise<void> => {
    const path = join(folder, 'targets.json');
    await writeFile(`${path}.new`, JSON.stringify([{ targets }]));
    await rename(`${path}.new`, path);
  };
  await setTargets([]);
  const config = {
    global: { scrape_interval: '200ms', scrape_timeout: '200ms', evaluation_interval: '200ms' },
    rule_files: ['rules.yml'],
    // No alert may depend on this name.
    scrape_configs: [{ job_name: 'any-name', file_sd_configs: [{ files: ['targets.json'] }] }],
  };
  await writeFile(join(folder, 'prometheus.yml'), JSON.stringify(config));
  const port = await findFreePort();
  const { end, listens } = runProgram('prometheus', {
    args: [
      '--config.file=prometheus.yml',
      `--web.listen-address=127.0.0.1:${port}`,
      '--storage.tsdb.path=data',
      '--log.level=error',
    ],
    cwd: folder,
  });
  closeLater(() => end());
  await listens(port);
  return {
    /** The names of the alerts that fire now. */
    firing: async (): Promise<string[]> => {
      const query = encodeURIComponent('ALERTS{alertstate="firing"}');
      const result = await (
        await fetch(`http://127.0.0.1:${port}/api/v1/query?query=${query}`)
      ).text();
      return [...result.matchAll(/"alertname":"(\w+)"/g)].map(([, name = '']) => name);
    },
    setTargets,
  };
};
