import type { Clock } from '../clock.ts';
import type { ReadLimits } from '../regular-file.ts';
import { createFileStates, type FileStatesOptions } from './file-states.ts';

// The life cycle of files that the service reads while it runs. They are read at each use, twice a
// second and by POST /refresh, so that rotation and swapped symbolic links need no notification by
// the file system, which not every volume supports.

/**
 * There is no secret to use. The message names the variable and what is wrong with its file, never
 * the content or path.
 */
export class SecretFileError extends Error {
  override readonly name = 'SecretFileError';
}

/** What is wrong with the file of `variable`, and what would be right; never any of its content. */
export interface FileProblem {
  readonly variable: string;
  readonly text: string;
}

export interface SecretFileInUse {
  readonly variable: string;
  /**
   * Since when its current content is in use, in wall-clock milliseconds. Files that are used
   * together change together.
   */
  readonly sinceMs: number;
}

/** Files that are used together: `value` is their content; undefined if that is not usable. */
export interface Reading<T> {
  readonly value?: T | undefined;
  readonly problems: readonly FileProblem[];
}

interface FileGroup<T> {
  readonly variables: readonly string[];
  /**
   * What happens while the files are not usable, if they grant access: their content is withdrawn.
   * Undefined if the service needs them to keep working: their last usable content stays in use.
   */
  readonly withdrawal?: string | undefined;
  /** Reads the files; `last` is their last usable content. Never rejects. */
  readonly read: (limits: ReadLimits, last: T | undefined) => Promise<Reading<T>>;
}

/**
 * A change is reported within a second, also by a busy service. A withdrawn secret is refused from
 * its next use on.
 */
const LOOK_EVERY_MS = 500;

/** A file that is written in place is empty for some milliseconds. */
const CONFIRM_AFTER_MS = 100;

export interface WatchedFilesOptions extends FileStatesOptions {
  readonly clock: Clock;
  /** Measures the deadlines of real input and output. */
  readonly ioClock: Clock;
}

export const createWatchedFiles = (options: WatchedFilesOptions) => {
  const { clock, ioClock } = options;
  let isStopped = false;
  const states = createFileStates({
    clock,
    // A file may be being read when the service stops.
    onEvent: (event) => {
      if (!isStopped) options.onEvent(event);
    },
  });
  const groups: {
    readonly variables: readonly string[];
    readonly reread: () => Promise<void>;
    readonly sinceMs: () => number;
  }[] = [];
  let isWatching = false;
  let cancelNext = (): void => {};

  /**
   * Adds files to watch.
   * @returns a function that reads them again and returns their content, or the last usable one if
   *   that stays in use
   * @throws {SecretFileError} (the function) if there is nothing to use
   */
  const add = <T>({ variables, withdrawal, read }: FileGroup<T>): (() => Promise<T>) => {
    let last: T | undefined;
    let sinceMs = 0;
    /** What was wrong when they were last read; empty: nothing. */
    let why = '';
    const reread = async (): Promise<void> => {
      let reading = await read({ clock: ioClock }, last);
      if (reading.value === undefined && last !== undefined && why === '') {
        await new Promise<void>((resolve) => void ioClock.after(CONFIRM_AFTER_MS, resolve));
        reading = await read({ clock: ioClock }, last);
      }
      const { value, problems } = reading;
      const next = value === undefined && withdrawal === undefined ? last : value;
      if (next !== last) {
        last = next;
        sinceMs = clock.wallMs();
        states.forgetUse(variables);
      }
      why = problems.map(({ variable, text }) => `${variable} ${text}`).join('; ');
      const kept =
        last === undefined ? 'there is no earlier one to use' : 'the last usable one stays in use';
      const consequence = withdrawal ?? kept;
      for (const variable of variables) {
        const problem = problems.find((each) => each.variable === variable)?.text;
        states.noteReading(variable, problem === undefined ? undefined : { problem, consequence });
      }
    };
    if (variables.length > 0) groups.push({ variables, reread, sinceMs: () => sinceMs });
    for (const variable of variables) states.add(variable);
    return async () => {
      await reread();
      if (last === undefined) throw new SecretFileError(why);
      return last;
    };
  };

  /**
   * Reads all files again.
   * @returns the unusable ones
   */
  const check = async () => {
    await Promise.all(groups.map(({ reread }) => reread()));
    return states.unusable();
  };

  const watch = (): void => {
    if (isWatching) cancelNext = clock.after(LOOK_EVERY_MS, () => void check().then(watch));
  };

  return {
    add,
    check,
    noteUse: states.noteUse,
    noteConsequence: states.noteConsequence,
    /** The state of each file, as it was when it was last read or used. */
    states: states.all,
    /** The unusable files. */
    unusable: states.unusable,
    /** The files whose current content is in use. */
    inUse: (): readonly SecretFileInUse[] =>
      groups
        .filter(({ variables }) => states.areUsable(variables))
        .flatMap(({ variables, sinceMs }) =>
          variables.map((variable) => ({ variable, sinceMs: sinceMs() })),
        ),
    /** Reads all files twice a second, so that a change is reported before its content is used. */
    start: (): void => {
      isWatching = groups.length > 0;
      watch();
    },
    /** Ends this, and reports nothing any more. */
    stop: (): void => {
      isStopped = true;
      isWatching = false;
      cancelNext();
    },
  };
};
