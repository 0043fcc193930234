import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startEmulator, type Emulator } from '../../emulator/emulator.ts';
import { listenOn } from '../kit/free-port.ts';
import { runService } from '../kit/process.ts';
import type { Program } from '../kit/program.ts';
import { eventually } from '../kit/rig.ts';

// The recipe of docs/apm.md: a real OpenTelemetry SDK in the service, and a collector that takes what it exports.

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';

const scratch = mkdtempSync(join(tmpdir(), 'opentelemetry-'));
/** Everything that the SDK has exported, as JSON texts. */
const exported: string[] = [];
let collector: Server;
let collectorUrl = '';
let emulator: Emulator;
const programs: Program[] = [];

beforeAll(async () => {
  cpSync('examples/opentelemetry', scratch, {
    recursive: true,
    filter: (path) => !/node_modules/.test(path),
  });
  await promisify(execFile)('npm', ['ci', '--no-audit', '--no-fund'], { cwd: scratch });
  const collect = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    exported.push(await text(req));
    res.setHeader('Content-Type', 'application/json').end('{}');
  };
  collector = createServer((req, res) => void collect(req, res));
  collectorUrl = `http://127.0.0.1:${await listenOn(collector)}`;
  emulator = await startEmulator();
});
afterAll(async () => {
  for (const { child } of programs) child.kill('SIGKILL');
  await emulator.close();
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
    .flatMap((json) => spansIn(JSON.parse(json)))
    .filter((span) => span.kind === kind && span.attributes['url.path'] === path);

test('with HOT_PATH=off, OpenTelemetry sees each request and each load, and no token', async () => {
  expect(documentedEnv()).toMatchObject({ HOT_PATH: 'off' });
  const service = runService(
    {
      ...documentedEnv(),
      MANAGEMENT_PORT: 'off',
      PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl,
      OTEL_EXPORTER_OTLP_ENDPOINT: collectorUrl,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '50',
    },
    { cwd: scratch, preload: `import ${JSON.stringify(pathToFileURL(join(scratch, 'register.mjs')))};` },
  );
  programs.push(service);
  const { input } = await service.says(/list: initial load succeeded/);
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(input)?.[0] ?? '';
  const headers = { traceparent: `00-${TRACE_ID}-00f067aa0ba902b7-01` };
  expect((await fetch(`${url}/banks`, { headers })).status).toBe(200);
  await eventually(() => spans(SERVER, '/banks').length === 1 && spans(CLIENT, '/api/v1/banks').length === 1);
  const [request] = spans(SERVER, '/banks');
  expect(request?.traceId).toBe(TRACE_ID);
  expect(Number(request?.attributes['http.response.status_code'])).toBe(200);
  const [load] = spans(CLIENT, '/api/v1/banks');
  expect(Number(load?.attributes['http.response.status_code'])).toBe(200);
  expect(exported.join('')).not.toContain('emulator-access-token');
});
