import { formsOf } from '../../src/secrets/redaction.ts';
import type { Findings } from './findings.ts';

// Judges each line of the service's log: JSON, no secret, no unexpected error.

const SUSPICIOUS =
  /"level":60|"kind":"internal"|"code":"internal_error"|"statusCode":500,|Warning: |lines? (?:was|were) left out/;

/** @param secrets the values that must not be seen, by name; it may grow */
export const createLogJudge = (secrets: () => ReadonlyMap<string, string>, findings: Findings) => {
  const forms = new Map<string, readonly string[]>();

  /** Judges anything that the service gave out. */
  const checkText = (kind: string, text: string): void => {
    for (const [name, secret] of secrets()) {
      const known = forms.get(secret) ?? formsOf(secret);
      forms.set(secret, known);
      if (known.some((form) => text.includes(form)))
        findings.fail(kind, `the secret ${name}`, text);
    }
  };

  return {
    onLine: (line: string, isError: boolean): void => {
      const isRequest = line.endsWith(',"msg":"request"}');
      checkText('log', line);
      if (isError) findings.fail('log', 'a line on standard error', line);
      if (SUSPICIOUS.test(line)) findings.fail('log', 'an unexpected error', line);
      try {
        const { msg }: { msg?: unknown } = JSON.parse(line);
        if (!isRequest) findings.count('log', String(msg).split(/[:;] /).slice(0, 2).join(': '));
      } catch {
        findings.fail('log', 'a line that is not JSON', line);
      }
    },
    checkText,
  };
};
