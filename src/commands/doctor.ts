import { ConfigError, describeProblem } from '../config/config.ts';
import { readConfig } from '../config/environment.ts';
import { CANNOT_SERVE, examine } from '../doctor/examine.ts';
import { renderStep } from '../doctor/report.ts';
import type { CommandContext } from './command-line.ts';

/**
 * Makes one load from the provider, tries each store and each port once, and reports each step.
 * @returns 0 if a list could be served and everything that is configured works
 */
export const doctor = async ({
  env,
  version,
  redaction,
  write,
}: CommandContext): Promise<number> => {
  try {
    const { config, unusableFiles } = await readConfig(env);
    // The service does not start with them either, unless a saved list can be served.
    if (unusableFiles.length > 0) throw new ConfigError(unusableFiles);
    const { text, works } = await examine(config, { version, redaction });
    write(text);
    return works ? 0 : 1;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const lines = error.problems.flatMap((problem) =>
      renderStep({ name: 'configuration', result: 'FAIL', message: describeProblem(problem) }),
    );
    write([...lines, '', CANNOT_SERVE, ''].join('\n'));
    return 1;
  }
};
