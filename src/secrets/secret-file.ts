import { describeReadError, readTextFile } from '../regular-file.ts';
import { MAX_SECRET_BYTES, secretProblem, type Secret, type SecretRule } from './secret.ts';

// Reads secrets where they are used: the access token, the client secret, the management token, the address of Redis.

/** The file has not held a usable secret so far. The message names the variable, never the content or the path. */
export class SecretFileError extends Error {
  override readonly name = 'SecretFileError';
}

/** A secret that a variable holds, or the file that holds it. */
export type SecretSource = Secret | { readonly path: string };

export interface SecretReaderOptions {
  /** The variable that names the file. */
  readonly variable: string;
  readonly rule: SecretRule;
  /** Called with each secret before it is used, so that it is redacted from all output. */
  readonly addSecret: (variable: string, secret: string) => void;
}

/**
 * Gives the secret. A file is read each time the secret is used, which is rare, so rotation and swapped symbolic links need no file watcher.
 * While the file is missing or unusable, for example in the middle of a rotation, the last good secret stays in use.
 * @throws {SecretFileError} when there has not been a usable secret yet
 */
export const createSecretReader = (
  source: SecretSource,
  { variable, rule, addSecret }: SecretReaderOptions,
): (() => Promise<string>) => {
  if ('reveal' in source) return () => Promise.resolve(source.reveal());
  let last: string | undefined;
  return async () => {
    const { secret = last, problem } = await readSecret(source.path, rule);
    if (secret === undefined)
      throw new SecretFileError(
        `${variable} has no usable ${rule.bearer ? 'token' : 'secret'}: it ${problem}`,
      );
    last = secret;
    addSecret(variable, secret);
    return secret;
  };
};

const readSecret = async (
  path: string,
  rule: SecretRule,
): Promise<{ readonly secret?: string; readonly problem?: string }> => {
  try {
    const text = await readTextFile(path, MAX_SECRET_BYTES);
    // Editors end a file with a line break, which is not part of the secret. Spaces may be, except in a token.
    const secret = rule.bearer ? text.trim() : text.replace(/(?<![\r\n])[\r\n]+$/, '');
    const problem = secretProblem(secret, rule);
    return problem === undefined ? { secret } : { problem };
  } catch (error) {
    return { problem: `cannot be read (${describeReadError(error)})` };
  }
};
