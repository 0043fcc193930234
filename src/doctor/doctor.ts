import { ConfigError, secretsOf } from '../config/config.ts';
import { diagnose } from './diagnosis.ts';
import { examine } from './exchange.ts';
import { render } from './report.ts';
import { readConfig } from '../config/environment.ts';
import { createRedaction } from '../secrets/redaction.ts';

// The doctor as a program: makes one exchange with the configured provider and tells a person what came of it. Exit
// status 0 means that this configuration can serve a list, and nothing else does. It binds no port and keeps nothing.

const redaction = createRedaction();

const main = async (): Promise<string> => {
  const config = readConfig();
  for (const [variable, secret] of secretsOf(config)) redaction.addSecret(variable, secret);
  const report = diagnose(config, await examine(config, redaction));
  if (report.served) process.exitCode = 0;
  return render(report);
};

const explain = (error: unknown): string => {
  if (!(error instanceof ConfigError))
    return 'The doctor itself failed for a reason that it did not foresee.\n';
  const lines = error.problems.map((problem) => `FAIL  configuration  ${problem}`);
  return [...lines, '', 'This configuration cannot serve a list.', ''].join('\n');
};

process.exitCode = 1;
process.stdout.write(redaction.redact(await main().catch(explain)));
