import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { listenOn } from '../kit/free-port.ts';
import { startEmulatorProcess, type EmulatorProcess } from '../kit/process.ts';
import { runNode, type Program } from '../kit/program.ts';
import { eventually } from '../kit/rig.ts';

// The recipe of docs/apm.md: a real OpenTelemetry SDK in the service, and a collector that takes what it exports.

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';

const scratch = mkdtempSync(join(tmpdir(), 'opentelemetry-'));
/** Everything that the SDK has exported, as JSON texts. */
const exported: string[] = [];
let collector: Server;
let collectorUrl = '';
let emulator: EmulatorProcess;
const programs: Program[] = [];

beforeAll(async () => {
  cpSync('examples/opentelemetry', scratch, {
    recursive: true,
    filter: (path) => !/node_modules/.test(path),
  });
  await promisify(execFile)('npm', ['ci', '--no-audit', '--no-fund'], { cwd: scratch });
  collector = createServer((req, res) => {
    let body = '';
    req.on('data', (chunk) => (body += String(chunk)));
    req.on('end', () => {
      exported.push(body);
      res.setHeader('Content-Type', 'application/json').end('{}');
    });
  });
  collectorUrl = `http://127.0.0.1:${await listenOn(collector)}`;
  emulator = await startEmulatorProcess();
});
afterAll(() => {
  for (const { child } of programs) child.kill('SIGKILL');
  emulator.end();
  collector.closeAllConnections();
  collector.close();
  rmSync(scratch, { recursive: true, force: true });
});

/** The variables that the page tells its reader to set. */
const documentedEnv = (): Record<string, string> => {
  const exports = readFileSync('docs/apm.md', 'utf8').match(/^export .*$/gm) ?? [];
  const pairs = exports.join(' ').match(/[A-Z_]+=\S+/g) ?? [];
  return Object.fromEntries(pairs.map((pair) => pair.split('=')));
};

/** The names of the attributes are those of OpenTelemetry's semantic conventions. */
interface Span {
  readonly traceId: string;
  readonly kind: number;
  readonly attributes: Readonly<Record<string, unknown>>;
}
const SERVER = 2;
const CLIENT = 3;

/** Finds the spans at any depth of an export, which is JSON. */
const spansIn = (value: unknown): Span[] => {
  if (typeof value !== 'object' || value === null) return [];
  if (!('traceId' in value && 'kind' in value)) return Object.values(value).flatMap(spansIn);
  const { traceId, kind, attributes = [] } = Object(value);
  const entries = attributes.map((attribute: { key: string; value: object }) => [
    attribute.key,
    Object.values(attribute.value)[0],
  ]);
  return [{ traceId, kind, attributes: Object.fromEntries(entries) }];
};
const spans = (kind: number, path: string): Span[] =>
  exported
    .flatMap((text) => spansIn(JSON.parse(text)))
    .filter((span) => span.kind === kind && span.attributes['url.path'] === path);

const startService = async (hotPath: string): Promise<string> => {
  const env = {
    ...documentedEnv(),
    HOT_PATH: hotPath,
    HOST: '127.0.0.1',
    PORT: '0',
    MANAGEMENT_PORT: 'off',
    PROVIDER_ENVIRONMENT: 'sandbox',
    PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl,
    PROVIDER_ACCESS_TOKEN: 'emulator-access-token',
    OTEL_EXPORTER_OTLP_ENDPOINT: collectorUrl,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_SCHEDULE_DELAY: '50',
  };
  const args = ['--import', join(scratch, 'register.mjs')];
  const program = runNode(resolve('dist/src/main.js'), { args, env, cwd: scratch });
  programs.push(program);
  const { input } = await program.says(/list: initial load succeeded/);
  return /http:\/\/127\.0\.0\.1:\d+/.exec(input)?.[0] ?? '';
};
const getBanks = (url: string, spanId: string): Promise<Response> =>
  fetch(`${url}/banks`, { headers: { traceparent: `00-${TRACE_ID}-${spanId}-01` } });

test('with HOT_PATH=off, OpenTelemetry sees each request and each load, and no token', async () => {
  expect(documentedEnv()).toMatchObject({ HOT_PATH: 'off' });
  const url = await startService('off');
  expect((await getBanks(url, '00f067aa0ba902b7')).status).toBe(200);
  await eventually(() => spans(SERVER, '/banks').length === 1 && spans(CLIENT, '/api/v1/banks').length === 1);
  const [request] = spans(SERVER, '/banks');
  expect(request?.traceId).toBe(TRACE_ID);
  expect(Number(request?.attributes['http.response.status_code'])).toBe(200);
  const [load] = spans(CLIENT, '/api/v1/banks');
  expect(Number(load?.attributes['http.response.status_code'])).toBe(200);
  expect(exported.join('')).not.toContain('emulator-access-token');
});

test('with HOT_PATH=on, it sees the requests that are not ordinary only', async () => {
  exported.length = 0;
  const url = await startService('on');
  expect((await getBanks(url, '00f067aa0ba902b8')).status).toBe(200);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  await eventually(() => spans(SERVER, '/healthz').length === 1);
  expect(spans(SERVER, '/banks')).toEqual([]);
});
