import { execFile } from 'node:child_process';
import { cpSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import express from 'express';
import { emulate } from '../helpers/emulate.ts';
import { runService } from '../helpers/process.ts';
import { serve } from '../helpers/serve.ts';
import { eventually } from '../helpers/wait-until.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

// The recipe of docs/deployment.md: a real OpenTelemetry SDK in the service, a collector that takes
// what it exports.

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';

/**
 * A request of OTLP. The names of the attributes are those of OpenTelemetry's semantic conventions.
 */
interface Export {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly Span[] }[];
  }[];
}
interface Span {
  readonly traceId: string;
  readonly kind: number;
  readonly attributes: readonly unknown[];
}
const SERVER = 2;
const CLIENT = 3;

/** The variables that the page tells its reader to set. */
const documentedEnv = (): Record<string, string> => {
  const exports =
    readFileSync('docs/deployment.md', 'utf8').match(/^export (?:HOT_PATH|OTEL_).*$/gm) ?? [];
  const pairs = exports.join(' ').match(/[A-Z_]+=\S+/g) ?? [];
  return Object.fromEntries(pairs.map((pair) => pair.split('=')));
};

test('with HOT_PATH=off, OpenTelemetry sees each request and each load, and no token', async () => {
  const scratch = temporaryFolder('opentelemetry-');
  cpSync('examples/opentelemetry', scratch, {
    recursive: true,
    filter: (path) => !/node_modules/.test(path),
  });
  await promisify(execFile)('npm', ['ci', '--no-audit', '--no-fund'], { cwd: scratch });
  const exported: Export[] = [];
  const collector = createServer(
    express()
      .use(express.json())
      .use((req, res) => {
        exported.push(req.body);
        res.json({});
      }),
  );
  const emulator = await emulate();
  expect(documentedEnv()).toMatchObject({ HOT_PATH: 'off' });
  const { says } = runService(
    {
      ...documentedEnv(),
      MANAGEMENT_PORT: 'off',
      PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl,
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await serve(collector)}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '50',
    },
    {
      cwd: scratch,
      preload: `import ${JSON.stringify(pathToFileURL(join(scratch, 'register.mjs')))};`,
    },
  );
  const { input } = await says(/list: initial load succeeded/);
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(input)?.[0] ?? '';
  const headers = { traceparent: `00-${TRACE_ID}-00f067aa0ba902b7-01` };
  expect((await fetch(`${url}/banks`, { headers })).status).toBe(200);

  const spans = (kind: number, path: string): Span[] =>
    exported
      .flatMap(({ resourceSpans }) => resourceSpans.flatMap(({ scopeSpans }) => scopeSpans))
      .flatMap((scope) => scope.spans)
      .filter(
        (span) => span.kind === kind && JSON.stringify(span.attributes).includes(`"${path}"`),
      );
  await eventually(
    () => spans(SERVER, '/banks').length === 1 && spans(CLIENT, '/api/v1/banks').length === 1,
  );
  const succeeded = { key: 'http.response.status_code', value: { intValue: 200 } };
  expect(spans(SERVER, '/banks')[0]?.traceId).toBe(TRACE_ID);
  expect(spans(SERVER, '/banks')[0]?.attributes).toContainEqual(succeeded);
  // What Express's instrumentation adds.
  const route = { key: 'http.route', value: { stringValue: '/banks' } };
  expect(spans(SERVER, '/banks')[0]?.attributes).toContainEqual(route);
  expect(spans(CLIENT, '/api/v1/banks')[0]?.attributes).toContainEqual(succeeded);
  expect(JSON.stringify(exported)).not.toContain('emulator-access-token');
});
