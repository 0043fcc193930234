import type { ConfigProblem } from '../config/reader.ts';
import { ConfigError, describeProblem, secretsOf } from '../config/config.ts';
import { readConfig } from '../config/environment.ts';
import { diagnose } from '../doctor/diagnosis.ts';
import { observeLoad } from '../doctor/observe.ts';
import type { Step } from '../doctor/report.ts';
import { tryTokenRequests } from '../doctor/token-trials.ts';
import { trySurroundings } from '../doctor/surroundings.ts';
import type { CommandContext } from './command-line.ts';

/**
 * Makes one load from the provider, tries the stores and the ports, and reports each step.
 * @returns 0 if everything that is configured works
 */
export const doctor = async ({ env, redaction, write }: CommandContext): Promise<number> => {
  try {
    const { config, unusableFiles } = await readConfig(env);
    for (const [variable, secret] of secretsOf(config)) redaction.addSecret(variable, secret);
    const observation = await observeLoad(config, redaction);
    const trials = await tryTokenRequests(config, observation, (changed) =>
      observeLoad(changed, redaction),
    );
    const surroundings = await trySurroundings(config, redaction);
    const steps = [...untriedFiles(unusableFiles), ...surroundings];
    const { text, works } = diagnose(config, observation, steps, trials);
    write(text);
    return works ? 0 : 1;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const lines = error.problems.map(
      (problem) => `FAIL  configuration  ${describeProblem(problem)}`,
    );
    write([...lines, '', 'This configuration cannot serve a list.', ''].join('\n'));
    return 1;
  }
};

/** The unusable files that no other step needs. */
const untriedFiles = (files: readonly ConfigProblem[]): readonly Step[] =>
  files
    .filter(({ variables }) => variables.some((name) => NEEDED_BY_NO_STEP.includes(name)))
    .map((problem) => ({
      name: 'files',
      result: 'FAIL',
      message: describeProblem(problem),
      next: 'Correct the file. The service reads it again every 10 s.',
    }));

const NEEDED_BY_NO_STEP: readonly string[] = ['MANAGEMENT_TOKEN_FILE', 'CACHE_SIGNING_KEY_FILE'];
