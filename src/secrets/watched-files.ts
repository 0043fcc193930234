import type { Clock } from '../clock.ts';
import type { ReadLimits } from '../regular-file.ts';

// The life cycle of files that the service reads while it runs. They are read at each use, twice a
// second and by POST /refresh, so that rotation and swapped symbolic links need no notification by
// the file system, which not every volume supports. A change of their state is one event.

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

/** Why the content of a file does not work, and what happens meanwhile. */
export interface RefusedContent {
  readonly problem: string;
  readonly consequence: string;
}

export interface SecretFileState {
  readonly variable: string;
  /** Undefined while the file is usable. `sinceMs` is in wall-clock milliseconds. */
  readonly unusable:
    | { readonly sinceMs: number; readonly problem: string; readonly consequence: string }
    | undefined;
}

export type SecretFileEvent =
  | {
      readonly type: 'secret-file-unusable';
      readonly variable: string;
      readonly problem: string;
      readonly consequence: string;
    }
  | { readonly type: 'secret-file-usable'; readonly variable: string };

/** Files that are used together: `value` is what they hold; undefined where that is not usable. */
export interface Reading<T> {
  readonly value?: T | undefined;
  readonly problems: readonly FileProblem[];
}

interface FileGroup<T> {
  readonly variables: readonly string[];
  /**
   * What happens while the files are not usable, where they grant access: what they held is
   * withdrawn. Undefined where the service needs them to keep working: what they last held stays in
   * use.
   */
  readonly withdrawal?: string | undefined;
  /** Reads the files; `last` is what they last held. Never rejects. */
  readonly read: (limits: ReadLimits, last: T | undefined) => Promise<Reading<T>>;
}

/**
 * A change is reported within a second, also by a busy service. A withdrawn secret is refused at
 * its next use already.
 */
const LOOK_EVERY_MS = 500;

/** A file that is written in place is empty for some milliseconds. */
const CONFIRM_AFTER_MS = 100;

export interface WatchedFilesOptions {
  readonly clock: Clock;
  /** Measures the deadlines of real input and output. */
  readonly ioClock: Clock;
  readonly onEvent: (event: SecretFileEvent) => void;
}

export type WatchedFiles = ReturnType<typeof createWatchedFiles>;

export const createWatchedFiles = ({ clock, ioClock, onEvent }: WatchedFilesOptions) => {
  const groups: { variables: readonly string[]; reread: () => Promise<void> }[] = [];
  const states = new Map<string, SecretFileState>();
  /** The files whose present content was refused where it was used. */
  const refusals = new Map<string, RefusedContent>();
  let isWatching = false;
  let cancelNext = (): void => {};

  const report = (variable: string, problem: string | undefined, consequence: string): void => {
    const before = states.get(variable)?.unusable;
    if (before?.problem === problem) return;
    if (problem === undefined) {
      states.set(variable, { variable, unusable: undefined });
      onEvent({ type: 'secret-file-usable', variable });
      return;
    }
    const { sinceMs = clock.wallMs() } = before ?? {};
    states.set(variable, { variable, unusable: { sinceMs, problem, consequence } });
    onEvent({ type: 'secret-file-unusable', variable, problem, consequence });
  };

  /**
   * Adds files to those that are watched. @returns a function that reads them again and gives what
   * they hold, or last held where that stays in use
   * @throws {SecretFileError} (the function) when there is nothing to use
   */
  const add = <T>({ variables, withdrawal, read }: FileGroup<T>): (() => Promise<T>) => {
    let last: T | undefined;
    let why = '';
    let started = 0;
    let newest = 0;
    const isReported = (): boolean => variables.some((variable) => states.get(variable)?.unusable);
    const reread = async (): Promise<void> => {
      started += 1;
      const turn = started;
      let reading = await read({ clock: ioClock }, last);
      if (reading.value === undefined && last !== undefined && !isReported()) {
        await new Promise<void>((resolve) => void ioClock.after(CONFIRM_AFTER_MS, resolve));
        reading = await read({ clock: ioClock }, last);
      }
      const { value, problems } = reading;
      if (value !== last) for (const variable of variables) refusals.delete(variable);
      // One that was overtaken has read an older state of the files.
      if (turn < newest) return;
      newest = turn;
      if (value !== undefined || withdrawal !== undefined) last = value;
      why = problems.map(({ variable, text }) => `${variable} ${text}`).join('; ');
      const kept = last === undefined ? 'there is none to use' : 'the last usable one stays in use';
      for (const variable of variables) {
        const refusal = refusals.get(variable);
        const problem = problems.find((each) => each.variable === variable)?.text;
        report(variable, problem ?? refusal?.problem, refusal?.consequence ?? withdrawal ?? kept);
      }
    };
    if (variables.length > 0) groups.push({ variables, reread });
    for (const variable of variables) states.set(variable, { variable, unusable: undefined });
    return async () => {
      await reread();
      if (last === undefined) throw new SecretFileError(why);
      return last;
    };
  };

  const unusable = () =>
    [...states.values()].flatMap(({ variable, unusable: state }) =>
      state ? [{ variable, ...state }] : [],
    );

  /** Reads all files again. @returns those that are not usable */
  const check = async () => {
    await Promise.all(groups.map(({ reread }) => reread()));
    return unusable();
  };

  /**
   * Notes what using the content of a file has shown: that it is refused, or with `undefined` that
   * it works. A refusal is a problem of the file, until it has another content or works.
   */
  const noteUse = (variable: string, refusal: RefusedContent | undefined): void => {
    if (!states.has(variable)) return;
    if (refusal) {
      refusals.set(variable, refusal);
      report(variable, refusal.problem, refusal.consequence);
    } else if (refusals.delete(variable)) report(variable, undefined, '');
  };

  const watch = (): void => {
    if (isWatching) cancelNext = clock.after(LOOK_EVERY_MS, () => void check().then(watch));
  };

  return {
    add,
    check,
    noteUse,
    /** Those that are not usable, as they were when they were last read or used. */
    unusable,
    /** The variables of the files in use, each as it is now, and not as it last was. */
    inUse: (): readonly string[] =>
      groups
        .map(({ variables }) => variables)
        .filter((names) => names.every((name) => !states.get(name)?.unusable))
        .flat(),
    /** The state of each file, as it was when it was last read. */
    states: (): readonly SecretFileState[] => [...states.values()],
    /**
     * Reads all files twice a second, so that a change is reported although nobody uses what they
     * hold.
     */
    start: (): void => {
      isWatching = groups.length > 0;
      watch();
    },
    stop: (): void => {
      isWatching = false;
      cancelNext();
    },
  };
};
