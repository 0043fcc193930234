import { codeOf } from '../error-code.ts';
import { readRegularFile, UnusableFile } from '../regular-file.ts';
import { MAX_SECRET_BYTES, secretProblem, type SecretRule } from './secret-rules.ts';

// The reader of secret files: the access token, the client secret, the management token.

/** No usable secret has ever been in the file. The message names the variable, never the content or the path. */
export class SecretFileError extends Error {
  override readonly name = 'SecretFileError';
}

export interface SecretFileOptions {
  /** The variable that names the file. */
  readonly variable: string;
  readonly path: string;
  readonly rule: SecretRule;
  /** Is given each secret before it is used, so that it is never written. */
  readonly addSecret: (variable: string, secret: string) => void;
}

/**
 * Reads the file at each use, which is rare: a rotated file and a swapped symbolic link need no watcher. While it is
 * missing or holds no usable secret, as in the middle of a swap, the last good one stays in use.
 * @throws {SecretFileError} when there has never been a usable one
 */
export const createSecretFile = ({
  variable,
  path,
  rule,
  addSecret,
}: SecretFileOptions): (() => Promise<string>) => {
  let last: string | undefined;
  return async () => {
    const { secret = last, problem } = await readSecret(path, rule);
    if (secret === undefined)
      throw new SecretFileError(
        `${variable} holds no usable ${rule.bearer ? 'token' : 'secret'}: it ${problem}`,
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
    // Strictly UTF-8, and without a byte order mark.
    const text = UTF_8.decode(await readRegularFile(path, MAX_SECRET_BYTES));
    // An editor's line break is no part of a secret; blanks may be, except of a token.
    const secret = rule.bearer ? text.trim() : withoutLineBreaks(text);
    const problem = secretProblem(secret, rule);
    return problem === undefined ? { secret } : { problem };
  } catch (error) {
    return { problem: `cannot be read (${reasonOf(error)})` };
  }
};

const withoutLineBreaks = (text: string): string => {
  let { length } = text;
  while (text[length - 1] === '\n' || text[length - 1] === '\r') length -= 1;
  return text.slice(0, length);
};

const UTF_8 = new TextDecoder('utf-8', { fatal: true });

/** Why a file cannot be read: `not a regular file`, or a code such as ENOENT. */
export const reasonOf = (error: unknown): string =>
  error instanceof UnusableFile ? error.message : codeOf(error) || 'unknown reason';
