import { ConfigError, describeProblem, secretsOf } from '../config/config.ts';
import { readConfig } from '../config/environment.ts';
import { diagnose } from '../doctor/diagnosis.ts';
import { observeExchange } from '../doctor/observe.ts';
import { trySurroundings } from '../doctor/surroundings.ts';
import type { CommandContext } from './command-line.ts';

/**
 * Makes one exchange with the provider, tries the stores and the ports, and reports each step.
 * @returns 0 if everything that is configured works
 */
export const doctor = async ({ env, redaction, write }: CommandContext): Promise<number> => {
  try {
    const config = await readConfig(env);
    for (const [variable, secret] of secretsOf(config)) redaction.addSecret(variable, secret);
    const observation = await observeExchange(config, redaction);
    const { text, works } = diagnose(config, observation, await trySurroundings(config, redaction));
    write(text);
    return works ? 0 : 1;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const lines = error.problems.map((problem) => `FAIL  configuration  ${describeProblem(problem)}`);
    write([...lines, '', 'This configuration cannot serve a list.', ''].join('\n'));
    return 1;
  }
};
