import type { SecureContext } from 'node:tls';
import type { Clock } from '../clock.ts';
import { describeUnreadable, readTextFile } from '../regular-file.ts';
import {
  MAX_SECRET_BYTES,
  SECRET_NAMES,
  secretParts,
  secretProblem,
  type Secret,
  type SecretName,
} from './secret.ts';
import {
  readTlsFiles,
  TLS_VARIABLES,
  type Reading,
  type TlsFiles,
  type TlsSet,
} from './tls-files.ts';

// The secrets in use: some are in variables, others in files that are rotated while the service
// runs. A file is read at each use, every 10 s, and by POST /refresh. While it cannot be used, the
// last usable content stays in use, except a management token, which is withdrawn. No message
// contains a path or a part of a file.

/** A secret that a variable holds, or the file that holds it. */
export type SecretSource = Secret | { readonly path: string };

export type SecretSources = Readonly<Partial<Record<SecretName, SecretSource | undefined>>>;

/** The variable that is set: the one with the secret, or the one with the path of its file. */
export const variableOf = <Name extends SecretName>(
  name: Name,
  sources: SecretSources,
): Name | `${Name}_FILE` => {
  const source = sources[name];
  return source && 'path' in source ? `${name}_FILE` : name;
};

/** There is no secret to use. The message names the variable and what is wrong with its file. */
export class SecretFileError extends Error {
  override readonly name = 'SecretFileError';
}

/** Why a file cannot be used, and what happens meanwhile. */
interface FileFault {
  readonly problem: string;
  readonly consequence: string;
}

/** Times are in wall-clock milliseconds. */
export interface SecretFileState {
  readonly variable: string;
  /** Undefined while the file is usable. */
  readonly unusable?: (FileFault & { readonly sinceMs: number }) | undefined;
  /** When the content in use was first used; undefined: none is in use. */
  readonly contentSinceMs?: number | undefined;
}

export type SecretFileEvent =
  | ({ readonly type: 'secret-file-unusable'; readonly variable: string } & FileFault)
  | { readonly type: 'secret-file-usable'; readonly variable: string };

export interface SecretsOptions {
  readonly sources: SecretSources;
  readonly tlsFiles: TlsFiles;
  /** `production` refuses weak secrets. */
  readonly environment: string | undefined;
  /** Is given what must never be seen of each secret before it is used. */
  readonly addSecret: (variable: string, parts: readonly string[]) => void;
  readonly clock: Pick<Clock, 'wallMs' | 'after'>;
  readonly onEvent: (event: SecretFileEvent) => void;
}

const LOOK_EVERY_MS = 10_000;
/** The rules count the secret without line breaks after it. */
const MAX_FILE_BYTES = 2 * MAX_SECRET_BYTES;

/** What happens while the file of a secret that grants access cannot be used. */
const WITHDRAWALS: Readonly<Partial<Record<SecretName, string>>> = {
  MANAGEMENT_TOKEN: 'POST /refresh is refused until it is usable',
};

export type Secrets = ReturnType<typeof createSecrets>;

export const createSecrets = (options: SecretsOptions) => {
  const { sources, tlsFiles, environment, addSecret, clock, onEvent } = options;
  const states = new Map<string, SecretFileState>();
  const looks: (() => Promise<unknown>)[] = [];
  let isStopped = false;
  let cancelNext = (): void => {};

  const note = (variable: string, fault: FileFault | undefined, isNew: boolean): void => {
    const { unusable, contentSinceMs } = states.get(variable) ?? {};
    const nowMs = clock.wallMs();
    states.set(variable, {
      variable,
      unusable: fault && { ...fault, sinceMs: unusable?.sinceMs ?? nowMs },
      contentSinceMs: isNew ? nowMs : contentSinceMs,
    });
    if (isStopped || fault?.problem === unusable?.problem) return;
    onEvent(
      fault
        ? { type: 'secret-file-unusable', variable, ...fault }
        : { type: 'secret-file-usable', variable },
    );
  };

  /**
   * @param read reads the files of `variables`; its argument is their last usable content
   * @param withdrawal what happens while the content is withdrawn, instead of kept in use
   * @returns a function that reads them again and returns what is to be used now
   * @throws {SecretFileError} (the function) if there is nothing to use
   */
  const watch = <T>(
    variables: readonly string[],
    read: (last: T | undefined) => Promise<Reading<T>>,
    withdrawal?: string,
  ): (() => Promise<T>) => {
    for (const variable of variables) states.set(variable, { variable });
    let last: T | undefined;
    const look = async (): Promise<T> => {
      const { value, problems = new Map<string, string>() } = await read(last);
      const isNew = value !== undefined && value !== last;
      if (value !== undefined || withdrawal !== undefined) last = value;
      const kept =
        last === undefined ? 'there is no earlier one to use' : 'the last usable one stays in use';
      const consequence = withdrawal ?? kept;
      for (const variable of variables) {
        const problem = problems.get(variable);
        note(variable, problem === undefined ? undefined : { problem, consequence }, isNew);
      }
      if (last !== undefined) return last;
      throw new SecretFileError([...problems].map((problem) => problem.join(' ')).join('; '));
    };
    looks.push(look);
    return look;
  };

  const readerOf = (name: SecretName, source: SecretSource): (() => Promise<string>) => {
    if ('reveal' in source) {
      addSecret(name, secretParts(name, source.reveal()));
      return () => Promise.resolve(source.reveal());
    }
    const variable = `${name}_FILE`;
    const read = async (): Promise<Reading<string>> => {
      const reading = await readSecretFile(name, source.path, environment);
      if (reading.value !== undefined) addSecret(variable, secretParts(name, reading.value));
      return reading;
    };
    return watch([variable], read, WITHDRAWALS[name]);
  };

  const readers = new Map(
    SECRET_NAMES.flatMap((name) => {
      const source = sources[name];
      return source ? [[name, readerOf(name, source)] as const] : [];
    }),
  );
  const readTls = watch<TlsSet>(
    TLS_VARIABLES.filter((variable) => tlsFiles[variable]),
    async (last) => {
      const reading = await readTlsFiles(tlsFiles, last);
      if (reading.value) addSecret('PROVIDER_TLS_KEY_FILE', [reading.value.key]);
      return reading;
    },
  );

  /** Reads all files again. @returns the unusable ones */
  const check = async () => {
    await Promise.allSettled(looks.map((look) => look()));
    return unusableOf([...states.values()]);
  };

  const start = (): void => {
    if (isStopped || states.size === 0) return;
    cancelNext = clock.after(LOOK_EVERY_MS, () => void check().then(start));
  };

  return {
    /**
     * A configured secret as it is now, from its variable or its file.
     * @throws {SecretFileError} if its file has no content to use
     */
    read: async (name: SecretName): Promise<string> => {
      const read = readers.get(name);
      if (!read) throw new Error(`${name} is not configured`);
      return read();
    },
    /**
     * What a connection to the provider uses: TLS 1.2 or newer, with the newest files that fit each
     * other. @throws {SecretFileError} if there have never been any
     */
    tlsContext: async (): Promise<SecureContext> => (await readTls()).context,
    check,
    /** The state of each file, as it was when it was last read. */
    states: (): readonly SecretFileState[] => [...states.values()],
    /** Reads all files every 10 s, so that a change is reported before its content is used. */
    start,
    /** Ends this, and reports nothing any more. */
    stop: (): void => {
      isStopped = true;
      cancelNext();
    },
  };
};

/** The secret in the file at `path`, or what is wrong with it. */
const readSecretFile = async (
  name: SecretName,
  path: string,
  environment: string | undefined,
): Promise<Reading<string>> => {
  const unusable = (problem: string) => ({ problems: new Map([[`${name}_FILE`, problem]]) });
  try {
    // Editors end a file with a line break, which is not a part of the secret.
    const value = (await readTextFile(path, MAX_FILE_BYTES)).replace(/(?<![\r\n])[\r\n]+$/, '');
    const problem = secretProblem(name, value, environment);
    return problem === undefined ? { value } : unusable(problem);
  } catch (error) {
    return unusable(describeUnreadable(error, MAX_FILE_BYTES));
  }
};

/** The files that cannot be used. */
export const unusableOf = (states: readonly SecretFileState[]) =>
  states.flatMap(({ variable, unusable }) => (unusable ? [{ variable, ...unusable }] : []));
