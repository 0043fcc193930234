import type { Clock } from '../clock.ts';
import { describeUnreadable, readTextFile } from '../regular-file.ts';
import { secretParts, secretProblem } from './secret-rules.ts';
import { SecretFileError, type Contents, type SecretName } from './secret.ts';

// Secrets in files that are rotated while the service runs: what is in use, and what is wrong. No
// message contains a path or a part of a file.

/** Times are in wall-clock milliseconds. */
export interface SecretFileState {
  readonly variable: string;
  /** Why the file cannot be used, and what happens meanwhile; undefined while it can. */
  readonly unusable?:
    | { readonly problem: string; readonly consequence: string; readonly sinceMs: number }
    | undefined;
  /** When the content in use was first used; undefined: none is in use. */
  readonly contentSinceMs?: number | undefined;
}

export type SecretFileEvent =
  | {
      readonly type: 'secret-file-unusable';
      readonly variable: string;
      readonly problem: string;
      readonly consequence: string;
    }
  | { readonly type: 'secret-file-usable'; readonly variable: string };

export interface SecretFilesOptions {
  /** `production` refuses weak secrets. */
  readonly environment: string | undefined;
  /** Is given what must never be seen of each secret before it is used. */
  readonly addSecret: (variable: string, parts: readonly string[]) => void;
  readonly clock: Pick<Clock, 'wallMs'>;
  readonly onEvent: (event: SecretFileEvent) => void;
}

/** It grants access: while its file is unusable, the earlier content is not used either. */
const NEVER_KEPT: SecretName = 'MANAGEMENT_TOKEN';

/**
 * Files that are used together, or not at all; most are used alone.
 * @param paths by the names of the secrets
 * @param toValue makes what is used of new contents; throws a {@link SecretFileError} if they do not
 *   fit each other
 */
export const createSecretFiles = <T>(
  paths: ReadonlyMap<SecretName, string>,
  toValue: (contents: Contents) => T,
  { environment, addSecret, clock, onEvent }: SecretFilesOptions,
) => {
  let last: { readonly content: string; readonly value: T } | undefined;
  let states: readonly SecretFileState[] = [...paths.keys()].map((name) => ({
    variable: `${name}_FILE`,
  }));

  const note = (problems: SecretFileError['problems'], isNew = false): void => {
    const nowMs = clock.wallMs();
    const kept = last ? 'the last usable one stays in use' : 'there is no earlier one to use';
    const consequence = paths.has(NEVER_KEPT)
      ? 'POST /refresh is refused until it is usable'
      : kept;
    states = states.map(({ variable, unusable, contentSinceMs }) => {
      const problem = problems.get(variable);
      const fault = problem === undefined ? undefined : { problem, consequence };
      if (problem !== unusable?.problem)
        onEvent(
          fault
            ? { type: 'secret-file-unusable', variable, ...fault }
            : { type: 'secret-file-usable', variable },
        );
      return {
        variable,
        unusable: fault && { ...fault, sinceMs: unusable?.sinceMs ?? nowMs },
        contentSinceMs: isNew ? nowMs : contentSinceMs,
      };
    });
  };

  const readNow = async (): Promise<T> => {
    try {
      const contents = await readFiles(paths, environment);
      const content = JSON.stringify(contents);
      if (content === last?.content) note(NO_PROBLEMS);
      else {
        for (const [name, text] of contents) addSecret(`${name}_FILE`, secretParts(name, text));
        last = { content, value: toValue(Object.fromEntries(contents)) };
        note(NO_PROBLEMS, true);
      }
    } catch (error) {
      if (!(error instanceof SecretFileError)) throw error;
      if (paths.has(NEVER_KEPT)) last = undefined;
      note(error.problems);
      if (!last) throw error;
    }
    return last.value;
  };
  /** The newest read. One after the other: an older content must not replace a newer one. */
  let reading: Promise<unknown> = Promise.resolve();

  return {
    /** Reads the files again. @throws {SecretFileError} if there is nothing to use */
    read: (): Promise<T> => {
      const result = reading.then(readNow);
      reading = result.catch(() => undefined);
      return result;
    },
    /** As they were when the files were last read. */
    states: (): readonly SecretFileState[] => states,
  };
};

const NO_PROBLEMS: SecretFileError['problems'] = new Map();

/** Far more than a bundle of all public authorities takes. */
const MAX_FILE_BYTES = 1_048_576;

/** @throws {SecretFileError} with what is wrong with each */
const readFiles = async (
  paths: ReadonlyMap<SecretName, string>,
  environment: string | undefined,
): Promise<readonly (readonly [SecretName, string])[]> => {
  const problems = new Map<string, string>();
  const readFile = async ([name, path]: readonly [SecretName, string]) => {
    let text = '';
    let problem: string | undefined;
    try {
      // Editors end a file with a line break, which is not a part of the secret.
      text = (await readTextFile(path, MAX_FILE_BYTES)).replace(/(?<![\r\n])[\r\n]+$/, '');
      problem = secretProblem(name, text, environment);
    } catch (error) {
      problem = describeUnreadable(error, MAX_FILE_BYTES);
    }
    if (problem !== undefined) problems.set(`${name}_FILE`, problem);
    return [name, text] as const;
  };
  const contents = await Promise.all([...paths].map(readFile));
  if (problems.size > 0) throw new SecretFileError(problems);
  return contents;
};

/** The files that cannot be used. */
export const unusableOf = (states: readonly SecretFileState[]) =>
  states.flatMap(({ variable, unusable }) => (unusable ? [{ variable, ...unusable }] : []));
