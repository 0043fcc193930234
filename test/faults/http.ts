import type { Fault } from './fault.ts';

// Faults in src/http, apart from the hot path, the connections under it and the request log.

const LISTENER = ['test/http/server/server.test.ts', 'test/http/server/places.test.ts'];
const ROUTE = [
  'test/banks/renewal.test.ts',
  'test/http/banks/conditions-and-encodings.test.ts',
  'test/http/server/hot-path.test.ts',
];

export const http: readonly Fault[] = [
  {
    file: 'src/http/server/places.ts',
    code: '    spare.delete(connection);\n',
    fault: '',
    effect: 'after an hour of overload no newcomer has a place for a short answer',
    tests: [...LISTENER, 'test/http/server/slow-clients.test.ts'],
  },
  {
    file: 'src/http/server/places.ts',
    code: '    ordinary.delete(connection);\n',
    fault: '',
    effect: 'after a thousand connections in all an address gets no other',
    tests: [...LISTENER, 'test/http/server/slow-clients.test.ts'],
  },
  {
    file: 'src/http/server/places.ts',
    code: 'own.length < limits.connectionsPerAddress',
    fault: 'own.length <= limits.connectionsPerAddress',
    effect: 'one connection more than the bound for an address',
    tests: LISTENER,
  },
  {
    file: 'src/http/server/places.ts',
    code: 'connection.lastUsedMs >= unused.lastUsedMs',
    fault: 'connection.lastUsedMs <= unused.lastUsedMs',
    effect: 'the connection that was used last makes room, not the one unused for longest',
    tests: LISTENER,
  },
  {
    file: 'src/http/server/drain.ts',
    code: '  clearInterval(sweep);\n',
    fault: '  clearInterval(undefined);\n',
    effect: 'a timer is left behind by the drain, and keeps the process alive',
    tests: [...LISTENER, 'test/process.test.ts'],
  },
  {
    file: 'src/http/server/drain.ts',
    code: "clock.after(HALF_SENT_MS, () => destroyAll('receiving'))",
    fault: "clock.after(HALF_SENT_MS, () => destroyAll('idle'))",
    effect: 'a request that never ends holds up the drain',
    tests: [...LISTENER, 'test/process.test.ts'],
  },
  {
    file: 'src/http/server/drain.ts',
    code: 'clock.after(graceMs, () => destroyAll())',
    fault: "clock.after(graceMs, () => destroyAll('idle', 'receiving'))",
    effect: 'a client that does not read its answer holds up the drain past SHUTDOWN_GRACE',
    tests: [...LISTENER, 'test/process.test.ts'],
  },
  {
    file: 'src/http/server/server.ts',
    code: "    server.once('close', () => clearInterval(timer));\n",
    fault: "    server.once('close', () => timer.unref());\n",
    effect: 'a closed listener leaves its timer behind, with all that it refers to',
    tests: LISTENER,
  },
  {
    file: 'src/http/server/connection.ts',
    code: 'const bytes = socket.bytesWritten - socket.writableLength;',
    fault: 'const bytes = socket.bytesWritten;',
    effect: 'a client that takes its answers slowly but steadily is cut off',
    unnoticed:
      'an answer is one buffer, which counts as taken once all of it is: both numbers change at the same moments',
    tests: ['test/http/server/slow-clients.test.ts', ...LISTENER],
  },
  {
    file: 'src/http/server/refusals.ts',
    code: 'rawHeaders.length > 2 * MAX_HEADERS',
    fault: 'rawHeaders.length >= 2 * MAX_HEADERS',
    effect: 'a request with exactly 100 headers, which must be accepted, is refused',
    tests: ['test/http/server/raw-requests.test.ts', 'test/http/server/server.test.ts'],
  },
  {
    file: 'src/http/server/refusals.ts',
    code: 'url.length > MAX_TARGET_LENGTH',
    fault: 'url.length >= MAX_TARGET_LENGTH',
    effect: 'a target of exactly 8,000 bytes, which must be accepted, is refused',
    tests: ['test/http/server/raw-requests.test.ts', 'test/http/server/server.test.ts'],
  },
  {
    file: 'src/http/middlewares.ts',
    code: ' || isDraining() ||',
    fault: ' ||',
    effect: 'during the drain clients keep connections that are about to close, and lose requests',
    tests: ['test/service.test.ts', 'test/process.test.ts'],
  },
  {
    file: 'src/http/banks/route.ts',
    code: 'Math.max(1, Math.ceil(list.status().nextLoadInMs / 1_000))',
    fault: 'Math.floor(list.status().nextLoadInMs / 1_000)',
    effect: 'Retry-After is 0 or a second short: clients come back before there can be a list',
    tests: ROUTE,
  },
  {
    file: 'src/http/banks/route.ts',
    code: "      case 'not_modified':\n        requestLog.note(req, { listState: stateOf(served) });\n",
    fault: "      case 'not_modified':\n",
    effect: 'the answers 304 are missing from banks_served_total',
    tests: ['test/telemetry/metrics.test.ts', ...ROUTE],
  },
  {
    file: 'src/http/banks/answers.ts',
    code: ' && last.failureKind === failureKind',
    fault: '',
    effect: 'a stale list names the failure of a moment ago',
    tests: ROUTE,
  },
  {
    file: 'src/http/banks/answers.ts',
    code: "notModifiedHeaders: ['Vary', vary, ...validating]",
    fault: 'notModifiedHeaders: validating',
    effect: 'a 304 has no Vary, and a cache may give gzip to a client that cannot read it',
    tests: ROUTE,
  },
  {
    file: 'src/http/health.ts',
    code: 'lastFailureAt: toIso(lastFailure?.atMs)',
    fault: 'lastFailureAt: toIso(failing?.sinceMs)',
    effect: '/healthz gives the first failure’s time as the last one’s',
    tests: ['test/banks/renewal.test.ts', 'test/service.test.ts', 'test/operators/app.test.ts'],
  },
  {
    file: 'src/http/middlewares.ts',
    code: "  if (!isClientError) req.log.error({ err: error }, 'unexpected error in a request');\n",
    fault: '',
    effect: 'a defect answers 500 and leaves no trace in the log',
    tests: ['test/service.test.ts', 'test/http/server/server.test.ts', 'test/operators/app.test.ts'],
  },
  {
    file: 'src/http/cors.ts',
    code: 'varies: allowed.size > 0 && !isOpen',
    fault: 'varies: allowed.size > 1 && !isOpen',
    effect: 'with one origin configured a shared cache gives answers without it to the allowed page',
    tests: ['test/http/cors.test.ts', 'test/http/server/hot-path.test.ts'],
  },
  {
    file: 'src/http/cors.ts',
    code: 'isPreflight && headers(requestHeaders.origin) !== NO_HEADERS',
    fault: 'isPreflight',
    effect: 'the preflight of a foreign origin is told the methods and headers',
    tests: ['test/http/cors.test.ts', 'test/http/server/hot-path.test.ts'],
  },
];
