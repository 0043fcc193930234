import { formsOf } from '../src/secrets/secret-scanner.ts';
import { leaksIn } from '../test/kit/leaks.ts';
import type { Findings } from './findings.ts';

// Judges each line of the service's log: JSON, no secret, no unexpected error.

/** Decoding all that could be encoded takes a second for the text of the metrics, and stops the provider for so long. */
const MAX_THOROUGH = 1_000;
const SUSPICIOUS =
  /"level":60|"kind":"internal"|"code":"internal_error"|"status":500,|Warning: |lines? (?:was|were) left out/;

/** @param secrets the values that must not be seen, by name; it may grow */
export const createLogJudge = (secrets: () => ReadonlyMap<string, string>, findings: Findings) => {
  const forms = new Map<string, readonly string[]>();
  let lines = 0;

  const judgeSecrets = (kind: string, text: string, isThorough: boolean): void => {
    for (const [name, secret] of secrets()) {
      const known = forms.get(secret) ?? formsOf(secret);
      // Tokens are rotated.
      if (forms.size > 20) forms.clear();
      forms.set(secret, known);
      if (known.some((form) => text.includes(form))) findings.fail(kind, `the secret ${name}`, text);
    }
    if (!isThorough || text.length > MAX_THOROUGH) return;
    const leaks = leaksIn(text, secrets());
    if (leaks.length > 0) findings.fail(kind, `the secrets ${leaks.join()}`, text);
  };

  return {
    onLine: (line: string, isError: boolean): void => {
      lines += 1;
      const isRequest = line.endsWith(',"msg":"request"}');
      judgeSecrets('log', line, !isRequest || lines % 500 === 0);
      if (isError) findings.fail('log', 'a line on standard error', line);
      if (SUSPICIOUS.test(line)) findings.fail('log', 'an unexpected error', line);
      const entry: unknown = parse(line);
      if (typeof entry !== 'object' || entry === null) findings.fail('log', 'a line that is not JSON', line);
      else if (!isRequest)
        findings.count('log', String(Reflect.get(entry, 'msg')).split(/[:;] /).slice(0, 2).join(': '));
    },
    /** Judges anything else that the service gave out. */
    judgeText: (kind: string, text: string): void => judgeSecrets(kind, text, true),
  };
};

const parse = (line: string): unknown => {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
};
