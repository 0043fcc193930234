import { expect, test } from '@jest/globals';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import type { EnvironmentVariables } from '../src/config/variables.ts';
import { closeLater } from './helpers/close-later.ts';
import { runInShell, runNode } from './helpers/program.ts';
import { serve } from './helpers/serve.ts';
import { waitUntil } from './helpers/wait-until.ts';

// The built demo, used only through what it prints.

const startDemo = (env: EnvironmentVariables = {}) => {
  const program = runNode(resolve('dist/emulator/demo.js'), {
    // Not in the repository, where a developer's .env file may be.
    cwd: tmpdir(),
    env: { PATH: '/usr/bin:/bin', PORT: '0', MANAGEMENT_PORT: '0', ...env },
  });
  closeLater(() => program.child.kill('SIGKILL'));
  const { output } = program;
  return {
    ...program,
    /** The address on the printed line that begins with `label`. */
    url: (label: string): string =>
      new RegExp(`^ +${label} +(http://\\S+)$`, 'm').exec(output())?.[1] ??
      `no ${label} in ${output()}`,
    /** Runs the printed command that contains `text`, in a shell, and gives its output. */
    paste: (text: string): Promise<string> => {
      const lines = output().split('\n');
      const command =
        lines.find((line) => line.startsWith('    ') && line.includes(text)) ?? 'false';
      return runInShell(command);
    },
  };
};

/** Occupies a port on loopback; does nothing if it is already in use. */
const occupy = async (port: number): Promise<number> => {
  return serve(createServer(), port).catch(() => port);
};

test('what the README shows is printed and works, and Ctrl-C stops everything', async () => {
  // Those of the documented addresses: others are printed.
  for (const port of [4001, 4002]) await occupy(port);
  const demo = startDemo({
    CORS_ORIGINS: 'https://app.example',
    CACHE_TTL: '1s',
  });
  await demo.says(/Ctrl-C stops everything\./);
  const [, example = ''] =
    /npm run demo\n…\n([^]*?)…/.exec(readFileSync('README.md', 'utf8')) ?? [];
  const withoutPorts = (text: string): string => text.replaceAll(/(127\.0\.0\.1:)\d+/g, '$1<port>');
  expect(example).toContain('Status page');
  expect(withoutPorts(demo.output())).toContain(withoutPorts(example));
  expect(demo.output()).not.toMatch(/:400[12]\b/);
  expect(demo.output()).toContain('Within 1s (CACHE_TTL) the status page turns amber');

  const picker = demo.url('Bank picker');
  const origins = ['http://localhost:5173', 'http://localhost:4173', 'https://app.example'];
  const expectList = async (origin: string): Promise<void> => {
    const list = await fetch(demo.url('Bank list'), { headers: { Origin: origin } });
    expect(list.headers.get('access-control-allow-origin')).toBe(origin);
    expect(await list.json()).toHaveLength(513);
  };
  for (const origin of [picker, ...origins]) await expectList(origin);
  expect(await (await fetch(picker)).text()).toContain(demo.url('Bank list'));
  expect(await (await fetch(demo.url('Metrics'))).text()).toContain('\nbanks_');
  const list = await demo.paste('head -c 300');
  expect(list).toMatch(/^\[\{"code":"001","ispb":"00000000","name":"BCO DO BRASIL/);

  const severity = async (): Promise<string | undefined> =>
    /data-severity="(\w+)"/.exec(await (await fetch(demo.url('Status page'))).text())?.[1];
  // With so short a TTL a slow machine may miss a renewal.
  await waitUntil('a page without a warning', severity, (shown) => shown === 'ok');
  expect(await demo.paste('/unavailable')).toBe('{"behaviour":"unavailable"}');
  await demo.says(/emulator: GET \/api\/v1\/banks -> 503\n/);
  await waitUntil('a warning', severity, (shown) => shown === 'warning');
  expect(await demo.paste('/healthz')).toContain('"status":"warn"');
  await expectList(picker);
  await demo.paste('/healthy');
  await waitUntil('the end of the warning', severity, (shown) => shown === 'ok');

  // A client that is connected holds nothing up.
  const socket = connect(Number(new URL(picker).port), '127.0.0.1').on('error', () => undefined);
  await once(socket, 'connect');
  demo.child.kill('SIGINT');
  expect(await demo.exit).toBe(0);
  expect(demo.output()).toMatch(/Everything has stopped\.\n$/);
  await expect(fetch(picker)).rejects.toThrow('fetch failed');
});

test('a port that is in use is reported, with the way out', async () => {
  const port = await occupy(0);
  const demo = startDemo({ PORT: String(port) });
  expect(await demo.exit).toBe(1);
  expect(demo.output()).toMatch(
    new RegExp(`^The demo cannot start\\. PORT: another program uses port ${port} `),
  );
});
