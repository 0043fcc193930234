import { formsOf } from '../src/secrets/secret-scanner.ts';
import { leaksIn } from '../test/kit/leaks.ts';
import type { Findings } from './findings.ts';

// Judges each line of the service's log: JSON, no secret, no unexpected error, and one line for each ordinary request.

export interface LogJudge {
  onLine(line: string, isError: boolean): void;
  /** The log must have a line with this identifier and address. */
  expect(requestId: string, ip: string): void;
  expectStatus(requestId: string, status: number): void;
  forget(requestId: string): void;
  /** Reports the lines that have not come for long. */
  sweep(): void;
  /** What is wrong with anything else that the service gave out. */
  judgeText(kind: string, text: string): void;
  lines(): number;
}

interface Expected {
  readonly ip: string;
  readonly atMs: number;
  status?: number;
  line?: { readonly ip: unknown; readonly status: unknown };
}

const LATE_MS = 20_000;
/** Decoding all that could be encoded takes a second for the text of the metrics, and stops the provider for so long. */
const MAX_THOROUGH = 1_000;
const SUSPICIOUS =
  /"level":60|"kind":"internal"|"code":"internal_error"|"status":500,|Warning: |lines? (?:was|were) left out/;

/** @param secrets the values that must not be seen, by name; it may grow */
export const createLogJudge = (secrets: () => ReadonlyMap<string, string>, findings: Findings): LogJudge => {
  const expected = new Map<string, Expected>();
  const forms = new Map<string, readonly string[]>();
  let lines = 0;

  const judgeSecrets = (kind: string, text: string, isThorough: boolean): void => {
    for (const [name, secret] of secrets()) {
      const known = forms.get(secret) ?? formsOf(secret);
      forms.set(secret, known);
      if (known.some((form) => text.includes(form))) findings.fail(kind, `the secret ${name}`, text);
    }
    if (!isThorough || text.length > MAX_THOROUGH) return;
    const leaks = leaksIn(text, secrets());
    if (leaks.length > 0) findings.fail(kind, `the secrets ${leaks.join()}`, text);
  };

  const settle = (requestId: string, { ip, status, line }: Expected): void => {
    if (status === undefined || line === undefined) return;
    expected.delete(requestId);
    if (line.ip !== ip || line.status !== status)
      findings.fail(
        'log',
        `${requestId} is logged with ${String(line.ip)} and ${String(line.status)}`,
        `${ip}, ${status}`,
      );
  };
  const onRequestLine = (line: object): void => {
    const requestId = String(Reflect.get(line, 'requestId'));
    const entry = expected.get(requestId);
    if (!entry) return;
    if (entry.line) findings.fail('log', 'a second line for one request', JSON.stringify(line));
    entry.line = { ip: Reflect.get(line, 'ip'), status: Reflect.get(line, 'status') };
    settle(requestId, entry);
  };

  return {
    onLine: (line, isError) => {
      lines += 1;
      const isRequest = line.endsWith(',"msg":"request"}');
      judgeSecrets('log', line, !isRequest || lines % 500 === 0);
      if (isError) findings.fail('log', 'a line on standard error', line);
      if (SUSPICIOUS.test(line)) findings.fail('log', 'an unexpected error', line);
      const entry: unknown = parse(line);
      if (typeof entry !== 'object' || entry === null) findings.fail('log', 'a line that is not JSON', line);
      else if (isRequest) onRequestLine(entry);
      else findings.count('log', String(Reflect.get(entry, 'msg')).split(/[:;] /).slice(0, 2).join(': '));
    },
    expect: (requestId, ip) => void expected.set(requestId, { ip, atMs: performance.now() }),
    expectStatus: (requestId, status) => {
      const entry = expected.get(requestId);
      if (!entry) return;
      entry.status = status;
      settle(requestId, entry);
    },
    forget: (requestId) => void expected.delete(requestId),
    sweep: () => {
      const limitMs = performance.now() - LATE_MS;
      for (const [requestId, { atMs }] of expected) {
        if (atMs > limitMs) break;
        findings.fail('log', `no line for ${requestId}`);
        expected.delete(requestId);
      }
      // Rotated tokens.
      const current = new Set(secrets().values());
      for (const secret of forms.keys()) if (!current.has(secret)) forms.delete(secret);
    },
    judgeText: (kind, text) => judgeSecrets(kind, text, true),
    lines: () => lines,
  };
};

const parse = (line: string): unknown => {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
};
