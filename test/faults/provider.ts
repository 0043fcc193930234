import type { Fault } from './fault.ts';

// Faults in src/provider.

const TOKEN = ['test/provider/client-credentials.test.ts', 'test/provider/access-token.test.ts'];
const CONNECTIONS = 'test/provider/connections.test.ts';
const EXCHANGE = [CONNECTIONS, 'test/provider/contract.test.ts', 'test/banks/renewal.test.ts'];

export const provider: readonly Fault[] = [
  {
    file: 'src/provider/client-credentials.ts',
    code: '      failuresInARow = 0;\n      onEvent',
    fault: '      onEvent',
    effect: 'after one long outage of the token endpoint the next single failure waits a minute',
    tests: TOKEN,
  },
  {
    file: 'src/provider/client-credentials.ts',
    code: 'expiresAtMs: startedAtMs + lifetimeMs,',
    fault: 'expiresAtMs: clock.monotonicMs() + lifetimeMs,',
    effect: 'a token is used for longer than it is valid, by the time that its request took',
    tests: TOKEN,
  },
  {
    file: 'src/provider/client-credentials.ts',
    code: 'held.token !== rejected && clock.monotonicMs() < held.expiresAtMs',
    fault: 'held.token !== rejected',
    effect: 'the retry after a 401 is made with a token that has expired',
    tests: TOKEN,
  },
  {
    file: 'src/provider/client-credentials.ts',
    code: 'return token === rejected ? undefined : token;',
    fault: 'return token;',
    effect: 'a token that was just rejected is sent once more, at the cost of a call',
    tests: TOKEN,
  },
  {
    file: 'src/provider/client-credentials.ts',
    code: 'retryDelayMs(failuresInARow, error.retryAfterMs,',
    fault: 'retryDelayMs(failuresInARow, undefined,',
    effect: 'the Retry-After of the token endpoint is ignored',
    tests: TOKEN,
  },
  {
    file: 'src/provider/client-credentials.ts',
    code: 'held = { ...held, renewAtMs: nowMs + delayMs };',
    fault: 'held = { ...held, renewAtMs: Math.min(nowMs, nowMs + delayMs) };',
    effect: 'while the token endpoint is down every use of the token asks it again',
    tests: TOKEN,
  },
  {
    file: 'src/provider/client-credentials.ts',
    code: 'renew().catch(() => undefined);',
    fault: 'void renew();',
    effect: 'a renewal that fails ahead of the expiry ends the process',
    tests: TOKEN,
  },
  {
    file: 'src/provider/token-endpoint.ts',
    code: 'readBody(response.body, encoding, MAX_GRANT_BYTES, signal)',
    fault: 'readBody(response.body, encoding, MAX_GRANT_BYTES * 1_024, signal)',
    effect: 'a grant may take 64 MiB of memory',
    tests: TOKEN,
  },
  {
    file: 'src/provider/token-endpoint.ts',
    code: 'grant.expires_in ?? Infinity',
    fault: 'grant.expires_in ?? 3_600',
    effect: 'a token without a lifetime is renewed every hour instead of after a 401',
    tests: TOKEN,
  },
  {
    file: 'src/provider/exchange.ts',
    code: "    ...(known?.lastModified !== undefined && { 'if-modified-since': known.lastModified }),\n",
    fault: '',
    effect: 'a provider with dates and without entity tags sends the whole list each time',
    tests: EXCHANGE,
  },
  {
    file: 'src/provider/exchange.ts',
    code: 'usable(known?.lastModified)',
    fault: 'known?.lastModified',
    effect: 'a date that cannot be sent makes each later request fail',
    tests: EXCHANGE,
  },
  {
    file: 'src/provider/contract.ts',
    code: '(named?.lastModified ?? known.lastModified) === known.lastModified ||',
    fault: 'named?.lastModified !== known.etag ||',
    effect: 'a 304 that names another date keeps an old list in use',
    tests: EXCHANGE,
  },
  {
    file: 'src/provider/contract.ts',
    code: '`the provider fails (${status})`, { retryAfterMs, upstreamStatus }',
    fault: '`the provider fails (${status})`, { upstreamStatus }',
    effect: 'the Retry-After of a 503 is ignored',
    tests: EXCHANGE,
  },
  {
    file: 'src/provider/body.ts',
    code: 'if (bytes > maxBytes) return;',
    fault: 'if (bytes >= maxBytes) return;',
    effect: 'a body of exactly PROVIDER_MAX_BODY is refused',
    tests: EXCHANGE,
  },
  {
    file: 'src/provider/connections.ts',
    code: '        void dispatcher.destroy();\n',
    fault: '',
    effect: 'each request leaves its connection open',
    tests: [CONNECTIONS, 'test/banks/renewal.test.ts'],
  },
  {
    file: 'src/provider/connections.ts',
    code: '        open.delete(dispatcher);\n',
    fault: '',
    effect: 'each request leaves its client in memory',
    tests: [CONNECTIONS, 'test/banks/renewal.test.ts'],
  },
  {
    file: 'src/provider/provider.ts',
    code: 'await Promise.all([connections.destroy(), tokenConnections.destroy()]);',
    fault: 'await Promise.all([connections.destroy(), tokenConnections]);',
    effect: 'a request for a token is left open when the service stops',
    tests: [CONNECTIONS, 'test/service.test.ts'],
  },
  {
    file: 'src/provider/connections.ts',
    code: "tunnel.socket.on('error', () => undefined).destroy();",
    fault: "tunnel.socket.on('error', () => undefined);",
    effect: 'each refusal of a proxy leaves a connection open',
    tests: [CONNECTIONS, 'test/provider/proxy.test.ts'],
  },
  {
    file: 'src/provider/client-credentials.ts',
    code: 'if (!held || nowMs >= held.expiresAtMs) return renew();',
    fault: 'if (!held) return renew();',
    effect: 'a token that has expired is sent once more before it is renewed',
    tests: TOKEN,
  },
  {
    file: 'src/provider/client-credentials.ts',
    code: 'lifetimeMs * renewalShare(random()),',
    fault: 'lifetimeMs * Math.max(1, renewalShare(random())),',
    effect: 'the token is renewed only when it has expired, and the list waits for it',
    tests: TOKEN,
  },
  {
    file: 'src/provider/access-token.ts',
    code: 'await exchange(newer);',
    fault: 'await exchange(token);',
    effect: 'the retry after a 401 is made with the token that was rejected',
    tests: TOKEN,
  },
  {
    file: 'src/provider/token-endpoint.ts',
    code: 'the token endpoint: ${message}`,\n    { retryAfterMs },',
    fault: 'the token endpoint: ${message}`,\n    {},',
    effect: 'without a token the Retry-After of the token endpoint is ignored',
    tests: TOKEN,
  },
];
