import { afterEach, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { runNode, type Program } from './kit/program.ts';

// The built demo, used only through what it prints.

interface Demo extends Program {
  /** The address on the printed line that begins with `label`. */
  url(label: string): string;
  /** Runs the printed command that contains `text`, in a shell, and gives its output. */
  paste(text: string): Promise<string>;
}

const cleanUp: (() => void)[] = [];
afterEach(() => {
  for (const step of cleanUp.splice(0)) step();
});

const startDemo = (env: Readonly<Record<string, string>> = {}): Demo => {
  const program = runNode(resolve('dist/emulator/demo.js'), {
    // Not in the repository, where a developer's .env file may be.
    cwd: tmpdir(),
    env: { PATH: '/usr/bin:/bin', PORT: '0', MANAGEMENT_PORT: '0', ...env },
  });
  cleanUp.push(() => program.child.kill('SIGKILL'));
  const { output } = program;
  return {
    ...program,
    url: (label) =>
      new RegExp(`^ +${label} +(http://\\S+)$`, 'm').exec(output())?.[1] ?? `no ${label} in ${output()}`,
    paste: async (text) => {
      const lines = output().split('\n');
      const command = lines.find((line) => line.startsWith('    ') && line.includes(text)) ?? 'false';
      return (await promisify(execFile)('bash', ['-c', command])).stdout;
    },
  };
};

const startAndRead = async (env: Readonly<Record<string, string>> = {}): Promise<Demo> => {
  const demo = startDemo(env);
  await demo.says(/Ctrl-C stops everything\./);
  return demo;
};

/** Repeats until the condition holds; the test's time limit ends it. */
const until = async (isWanted: () => Promise<boolean>): Promise<void> => {
  // oxlint-disable-next-line no-await-in-loop
  while (!(await isWanted())) await new Promise((next) => setTimeout(next, 20));
};

test('every printed address answers, and the page may read the list', async () => {
  const demo = await startAndRead({ CORS_ORIGINS: 'https://app.example' });
  const picker = demo.url('Bank picker');
  for (const origin of [picker, 'http://localhost:5173', 'http://localhost:4173', 'https://app.example']) {
    // oxlint-disable-next-line no-await-in-loop
    const list = await fetch(demo.url('Bank list'), { headers: { Origin: origin } });
    expect(list.headers.get('access-control-allow-origin')).toBe(origin);
    // oxlint-disable-next-line no-await-in-loop
    expect(await list.json()).toHaveLength(513);
  }
  expect(await (await fetch(picker)).text()).toContain(demo.url('Bank list'));
  expect(await (await fetch(demo.url('Status page'))).text()).toContain('<title>');
  expect(await (await fetch(demo.url('Metrics'))).text()).toContain('\nbanks_');
  expect(await demo.paste('head -c 300')).toMatch(
    /^\[\{"code":"001","ispb":"00000000","name":"BCO DO BRASIL/,
  );
  expect(await demo.paste('/healthz')).toContain('"status":"pass"');
});

test('its output is what the README shows', async () => {
  const [, shown = ''] = /npm run demo\n…\n([^]*?)…/.exec(readFileSync('README.md', 'utf8')) ?? [];
  const withoutPorts = (text: string): string => text.replaceAll(/(127\.0\.0\.1:)\d+/g, '$1<port>');
  expect(shown).toContain('Status page');
  expect(withoutPorts((await startAndRead()).output())).toContain(withoutPorts(shown));
});

test('the printed commands break it and repair it, and the list is served throughout', async () => {
  const demo = await startAndRead({ CACHE_TTL: '1s' });
  expect(demo.output()).toContain('Within 1s (CACHE_TTL) the status page turns amber');
  const statusPage = async (): Promise<string> => (await fetch(demo.url('Status page'))).text();
  expect(await (await fetch(demo.url('Bank list'))).json()).toHaveLength(513);
  expect(await statusPage()).toContain('data-severity="ok"');

  await demo.paste('/unavailable');
  await until(async () => (await demo.paste('/healthz')).includes('"status":"warn"'));
  expect(await statusPage()).toContain('data-severity="warning"');
  expect(await (await fetch(demo.url('Bank list'))).json()).toHaveLength(513);

  await demo.paste('/healthy');
  await until(async () => (await demo.paste('/healthz')).includes('"status":"pass"'));
  expect(await statusPage()).toContain('data-severity="ok"');
  expect(demo.output()).toContain('emulator: GET /api/v1/banks -> 503\n');
});

test('many calls are counted instead of printed, and requests to the service are not printed', async () => {
  const demo = await startAndRead({ CACHE_TTL: '10ms' });
  await fetch(demo.url('Bank list'));
  await demo.says(/and \d+ more before it/);
  const inTwoSeconds = new Date(Date.now() + 2_000).toISOString().slice(11, 19);
  await demo.says(new RegExp(`^${inTwoSeconds}  emulator`, 'm'));
  const linesBySecond = new Map<string, number>();
  for (const time of demo.output().match(/^[\d:]{8}(?= {2}emulator)/gm) ?? [])
    linesBySecond.set(time, (linesBySecond.get(time) ?? 0) + 1);
  expect(Math.max(...linesBySecond.values())).toBe(5);
  expect(demo.output()).not.toMatch(/^[\d:]{8} {2}request/m);
});

test('Ctrl-C stops everything with status 0, even while clients are connected', async () => {
  const demo = await startAndRead();
  const ports = ['Bank list', 'Bank picker', 'Status page'].map((label) =>
    Number(new URL(demo.url(label)).port),
  );
  const sockets = ports.map((port) => connect(port, '127.0.0.1').on('error', () => undefined));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  demo.child.kill('SIGINT');
  expect(await demo.exit).toBe(0);
  expect(demo.output()).toMatch(/Everything has stopped\.\n$/);
  await expect(fetch(demo.url('Bank picker'))).rejects.toThrow('fetch failed');
});

test('bad values are reported by name, with status 1', async () => {
  const demo = startDemo({ PORT: 'first', CACHE_TTL: 'soon', CORS_ORIGINS: 'app.example' });
  expect(await demo.exit).toBe(1);
  expect(demo.output()).toMatch(/^The demo cannot start\. The configuration has 3 problems:$/m);
  for (const name of ['PORT', 'CACHE_TTL', 'CORS_ORIGINS'])
    expect(demo.output()).toMatch(new RegExp(`^ {2}${name}: `, 'm'));
});

/** Occupies a port on loopback; does nothing if it is already in use. */
const occupy = (port: number): Promise<number> =>
  new Promise((settle) => {
    const server = createServer();
    cleanUp.push(() => server.close());
    server
      .once('error', () => settle(port))
      .listen(port, '127.0.0.1', () => {
        const address = server.address();
        settle(typeof address === 'object' && address ? address.port : port);
      });
  });

test.each(['PORT', 'MANAGEMENT_PORT'])(
  'a %s that is in use is reported, with the way out',
  async (variable) => {
    const port = await occupy(0);
    const demo = startDemo({ [variable]: String(port) });
    expect(await demo.exit).toBe(1);
    expect(demo.output()).toMatch(
      new RegExp(
        `^The demo cannot start\\. Port ${port} is in use\\. Choose another one: ${variable}=\\d+ npm run demo\\n$`,
      ),
    );
  },
);

test('where the documented management and control ports are in use, others are printed', async () => {
  await Promise.all([occupy(3001), occupy(4001)]);
  const demo = await startAndRead({ MANAGEMENT_PORT: '' });
  expect(new URL(demo.url('Status page')).port).not.toBe('3001');
  expect(await (await fetch(demo.url('Status page'))).text()).toContain('<title>');
  expect(await demo.paste('/unavailable')).toBe('{"behaviour":"unavailable"}');
  expect(demo.output()).not.toContain(':4001/');
});
