import type { Fault } from './fault.ts';

// Faults in src/operators and src/telemetry.

const PORT = ['test/operators/security.test.ts', 'test/operators/app.test.ts'];
const PAGE = ['test/browser/status-page.test.ts'];

export const operators: readonly Fault[] = [
  {
    file: 'src/operators/authorization.ts',
    code: '        total -= 1;\n',
    fault: '',
    effect: 'after 32 wrong tokens in all nobody can refresh until the next restart',
    tests: PORT,
  },
  {
    file: 'src/operators/authorization.ts',
    code: 'countOf(address) >= MAX_WAITING_PER_ADDRESS',
    fault: 'countOf(address) > MAX_WAITING_PER_ADDRESS',
    effect: 'an address has one guess more than the bound',
    tests: PORT,
  },
  {
    file: 'src/operators/authorization.ts',
    code: 'if (countOf(address) > 1) byAddress',
    fault: 'if (countOf(address) > 0) byAddress',
    effect: 'each address that ever sent a wrong token stays in memory',
    tests: PORT,
  },
  {
    file: 'src/operators/refresh.ts',
    code: "[...accepted, kind].join(',')",
    fault: 'kind',
    effect: 'the hint for a list that shrank and drifted sends the operator back and forth',
    tests: PORT,
  },
  {
    file: 'src/operators/host.ts',
    code: 'return [host, authority].every(',
    fault: 'return [authority ?? host].every(',
    effect: 'with an absolute target the Host header is not looked at',
    tests: PORT,
  },
  {
    file: 'src/http/listener/server.ts',
    code: '      for (const [socket] of connections) socket.destroy();\n',
    fault: '',
    effect: 'an open status page keeps the process alive after the stop',
    tests: ['test/operators/app.test.ts', 'test/process.test.ts', 'test/service.test.ts'],
  },
  {
    file: 'src/operators/status-page/status-page.js',
    code: '    delete root.dataset.contact;\n',
    fault: '',
    effect: 'after one missing answer the page stays grey',
    tests: PAGE,
  },
  {
    file: 'src/operators/status-page/status-page.js',
    code: "    noContact = next.querySelector('template');\n",
    fault: '',
    effect: 'a page without contact says that it is as old as its first load',
    tests: PAGE,
  },
  {
    file: 'src/operators/status-page/verdict.ts',
    code: 'const leftMs = policy.ttlMs + policy.maxStaleMs - ageMs;',
    fault: 'const leftMs = Math.max(ageMs, policy.maxStaleMs);',
    effect: 'the page names a wrong end of the stale list',
    tests: PAGE,
  },
  {
    file: 'src/telemetry/history.ts',
    code: '      knownBefore = knownAge ?? knownBefore;\n',
    fault: '',
    effect: 'after six quiet hours the plot has no age',
    tests: ['test/telemetry/history.test.ts'],
  },
  {
    file: 'src/telemetry/history.ts',
    code: '    tally.oldestAgeMs = oldest(tally.oldestAgeMs, ageAt(known, atMs));\n',
    fault: '    tally.oldestAgeMs = oldest(tally.oldestAgeMs, known && atMs - atMs);\n',
    effect: 'the plot hides how old the list was just before its renewal',
    tests: ['test/telemetry/history.test.ts'],
  },
  {
    file: 'src/telemetry/history.ts',
    code: "        case 'list-restored':\n          noteAge(tally, nowMs);\n",
    fault: "        case 'list-restored':\n",
    effect: 'the age of a restored list is not in the plot',
    tests: ['test/telemetry/history.test.ts', 'test/sharing/stores.test.ts'],
  },
  {
    file: 'src/telemetry/list-log.ts',
    code: "    logged = { state: 'fresh' };\n",
    fault: "    logged = { ...logged, state: 'fresh' };\n",
    effect: 'after one outage every renewal is logged as a recovery',
    tests: ['test/telemetry/log.test.ts', 'test/banks/renewal.test.ts'],
  },
  {
    file: 'src/telemetry/list-log.ts',
    code: 'logged.failing !== failing || logged.state !== state',
    fault: 'logged.failing !== failing',
    effect: 'the log does not say when a list becomes stale, or expires, in an outage that has begun',
    tests: ['test/telemetry/log.test.ts', 'test/banks/renewal.test.ts'],
  },
  {
    file: 'src/telemetry/log.ts',
    code: '      failing = undefined;\n',
    fault: '',
    effect: 'after one failed renewal every renewal of the token is logged as a recovery',
    tests: ['test/telemetry/log.test.ts', 'test/provider/access-token.test.ts'],
  },
  {
    file: 'src/telemetry/log.ts',
    code: '        failing.add(store);\n',
    fault: '        failing.has(store);\n',
    effect: 'each failed write is logged, and no recovery',
    tests: ['test/telemetry/log.test.ts', 'test/sharing/stores.test.ts'],
  },
  {
    file: 'src/telemetry/log-stream.ts',
    code: '    retryMs = FIRST_RETRY_MS;\n',
    fault: '',
    effect: 'after one stall of the log’s reader it gets ten pieces a second for ever',
    tests: ['test/telemetry/log-stream.test.ts'],
  },
  {
    file: 'src/telemetry/log-stream.ts',
    code: '    waitingBytes -= written;\n',
    fault: '',
    effect: 'after 4 MB in all the log ends',
    tests: ['test/telemetry/log-stream.test.ts'],
  },
  {
    file: 'src/telemetry/request-metrics.ts',
    code: 'if (listState && !aborted)',
    fault: 'if (listState)',
    effect: 'requests whose client went away count as served',
    tests: ['test/telemetry/metrics.test.ts', 'test/http/log/request-log.test.ts'],
  },
  {
    file: 'src/telemetry/request-durations.ts',
    code: 'while (seconds > (BOUNDS',
    fault: 'while (seconds >= (BOUNDS',
    effect: 'a duration of exactly a bound is counted above it',
    tests: ['test/telemetry/metrics.test.ts'],
  },
];
