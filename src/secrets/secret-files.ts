import { describeUnreadable, readTextFile, type ReadLimits } from '../regular-file.ts';
import { MAX_SECRET_BYTES, type Secret } from './secret.ts';
import { createWatchedFiles, type WatchedFilesOptions } from './watched-files.ts';

// Secrets in files: access token, client secret, management token, signing key, address of Redis.
// Certificates and keys have the same life cycle (tls-files.ts). docs/operations.md has the table
// for operators.

/** A secret that a variable holds, or the file that holds it. */
export type SecretSource = Secret | { readonly path: string };

interface SecretKind {
  /** Space around a token is ignored; in other secrets, only a line break at the end is. */
  readonly isToken: boolean;
  /**
   * What happens while the file is not usable, if the secret grants access: it is withdrawn.
   * Undefined if the service needs the secret to keep working: the last usable one stays in use.
   */
  readonly withdrawal?: string;
}

const SECRETS = {
  MANAGEMENT_TOKEN: { isToken: true, withdrawal: 'POST /refresh is refused until it is usable' },
  PROVIDER_ACCESS_TOKEN: { isToken: true },
  PROVIDER_CLIENT_SECRET: { isToken: false },
  PROVIDER_HEADERS: { isToken: false },
  CACHE_REDIS_URL: { isToken: false },
  CACHE_SIGNING_KEY: {
    isToken: false,
    withdrawal: 'lists are neither saved nor restored until it is usable',
  },
} as const satisfies Record<string, SecretKind>;

/** The secrets that `${name}_FILE` may hold. */
export type SecretName = keyof typeof SECRETS;

const isSecretName = (name: string): name is SecretName => Object.hasOwn(SECRETS, name);
export const SECRET_NAMES: readonly SecretName[] = Object.keys(SECRETS).filter(isSecretName);

/** What is wrong with a secret, by the rules of its variable; undefined if nothing is. */
export type SecretCheck = (name: SecretName, text: string) => string | undefined;

export interface SecretFilesOptions extends WatchedFilesOptions {
  readonly problemOf: SecretCheck;
  /** Is given each secret before it is used, so that it is redacted from all output. */
  readonly addSecret: (variable: string, secret: string) => void;
  /** {@link readTextFile} unless given. */
  readonly readFile?: typeof readTextFile | undefined;
}

export type SecretFiles = ReturnType<typeof createSecretFiles>;

export const createSecretFiles = ({
  problemOf,
  addSecret,
  readFile,
  ...options
}: SecretFilesOptions) => {
  const files = createWatchedFiles(options);
  return {
    ...files,
    addSecret,
    /**
     * A function that returns a secret. A secret in a file is read again each time.
     * @param secretsIn the secret parts of the file's content; by default all of it
     * @throws {SecretFileError} (the function) if there is none
     */
    reader: (
      name: SecretName,
      source: SecretSource,
      secretsIn: (text: string) => readonly string[] = (text) => [text],
    ): (() => Promise<string>) => {
      if ('reveal' in source) return () => Promise.resolve(source.reveal());
      const { withdrawal }: SecretKind = SECRETS[name];
      const variable = `${name}_FILE`;
      return files.add({
        variables: [variable],
        withdrawal,
        read: async (limits) => {
          const { text, problem } = await readSecret(
            name,
            source.path,
            problemOf,
            limits,
            readFile,
          );
          if (problem !== undefined) return { problems: [{ variable, text: problem }] };
          for (const secret of secretsIn(text)) addSecret(variable, secret);
          return { value: text, problems: [] };
        },
      });
    },
  };
};

/** The rules of each secret count the secret alone; a line break or spaces around it are no part. */
const MAX_FILE_BYTES = 2 * MAX_SECRET_BYTES;

/** The secret in a file, and what is wrong with it, if anything is. */
const readSecret = async (
  name: SecretName,
  path: string,
  problemOf: SecretCheck,
  limits?: ReadLimits,
  readFile = readTextFile,
): Promise<{ readonly text: string; readonly problem: string | undefined }> => {
  let content: string;
  try {
    content = await readFile(path, MAX_FILE_BYTES, limits);
  } catch (error) {
    return { text: '', problem: describeUnreadable(error, MAX_FILE_BYTES) };
  }
  // Editors end a file with a line break, which is not part of the secret. Spaces may be, except in
  // a token.
  const text = SECRETS[name].isToken ? content.trim() : content.replace(/(?<![\r\n])[\r\n]+$/, '');
  return { text, problem: problemOf(name, text) };
};

/** What is wrong with the file of a secret, for the checks at the start. */
export const fileProblem = async (
  name: SecretName,
  path: string,
  problemOf: SecretCheck,
): Promise<string | undefined> => (await readSecret(name, path, problemOf)).problem;
