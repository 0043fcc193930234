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

/** Why a file cannot be used, and what happens meanwhile. */
export interface FileFault {
  readonly problem: string;
  readonly consequence: string;
}

export interface SecretFileState {
  readonly variable: string;
  /** Undefined while the file is usable. `sinceMs` is in wall-clock milliseconds. */
  readonly unusable: (FileFault & { readonly sinceMs: number }) | undefined;
}

export interface SecretFileInUse {
  readonly variable: string;
  /**
   * Since when its present content is in use, in wall-clock milliseconds. Files that are used
   * together change together.
   */
  readonly sinceMs: number;
}

export type SecretFileEvent =
  | ({ readonly type: 'secret-file-unusable'; readonly variable: string } & FileFault)
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

export const createWatchedFiles = (options: WatchedFilesOptions) => {
  const { clock, ioClock } = options;
  const states = createStates(options);
  const groups: {
    readonly variables: readonly string[];
    readonly reread: () => Promise<void>;
    readonly sinceMs: () => number;
  }[] = [];
  let isWatching = false;
  let cancelNext = (): void => {};

  /**
   * Adds files to those that are watched. @returns a function that reads them again and gives what
   * they hold, or last held where that stays in use
   * @throws {SecretFileError} (the function) when there is nothing to use
   */
  const add = <T>({ variables, withdrawal, read }: FileGroup<T>): (() => Promise<T>) => {
    let last: T | undefined;
    let sinceMs = 0;
    let why = '';
    /** Readings are numbered as they start. */
    let started = 0;
    let newestTaken = 0;
    const reread = async (): Promise<void> => {
      started += 1;
      const number = started;
      let reading = await read({ clock: ioClock }, last);
      if (reading.value === undefined && last !== undefined && states.areUsable(variables)) {
        await new Promise<void>((resolve) => void ioClock.after(CONFIRM_AFTER_MS, resolve));
        reading = await read({ clock: ioClock }, last);
      }
      const { value, problems } = reading;
      // One that was overtaken has read an older state of the files.
      if (number < newestTaken) return;
      newestTaken = number;
      if (value !== last) {
        sinceMs = clock.wallMs();
        states.forgetUse(variables);
      }
      if (value !== undefined || withdrawal !== undefined) last = value;
      why = problems.map(({ variable, text }) => `${variable} ${text}`).join('; ');
      const kept = last === undefined ? 'there is none to use' : 'the last usable one stays in use';
      for (const variable of variables) {
        const problem = problems.find((each) => each.variable === variable)?.text;
        states.noteReading(
          variable,
          problem === undefined ? undefined : { problem, consequence: withdrawal ?? kept },
        );
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

  /** Reads all files again. @returns those that are not usable */
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
    /** The state of each file, as it was when it was last read or used. */
    states: states.all,
    /** Those that are not usable. */
    unusable: states.unusable,
    /** Those of which the present content is in use. */
    inUse: (): readonly SecretFileInUse[] =>
      groups
        .filter(({ variables }) => states.areUsable(variables))
        .flatMap(({ variables, sinceMs }) =>
          variables.map((variable) => ({ variable, sinceMs: sinceMs() })),
        ),
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

/** The states of files, by their variables. A change of one is an event. */
const createStates = ({ clock, onEvent }: WatchedFilesOptions) => {
  const states = new Map<string, SecretFileState>();
  /** Of the files whose present content was refused where it was used. */
  const refusals = new Map<string, FileFault>();

  const change = (variable: string, fault: FileFault | undefined): void => {
    const { sinceMs = clock.wallMs(), problem } = states.get(variable)?.unusable ?? {};
    if (problem === fault?.problem) return;
    states.set(variable, { variable, unusable: fault && { sinceMs, ...fault } });
    onEvent(
      fault
        ? { type: 'secret-file-unusable', variable, ...fault }
        : { type: 'secret-file-usable', variable },
    );
  };

  return {
    add: (variable: string): void => void states.set(variable, { variable, unusable: undefined }),
    all: (): readonly SecretFileState[] => [...states.values()],
    unusable: () =>
      [...states.values()].flatMap(({ variable, unusable }) =>
        unusable ? [{ variable, ...unusable }] : [],
      ),
    areUsable: (variables: readonly string[]): boolean =>
      variables.every((variable) => !states.get(variable)?.unusable),
    noteReading: (variable: string, fault: FileFault | undefined): void =>
      change(variable, fault ?? refusals.get(variable)),
    /**
     * Notes what using the content of a file has shown: that it is refused, or with `undefined` that
     * it works. A refusal is a fault of the file, until it has another content or works. Ignored
     * where the secret is in no file.
     */
    noteUse: (variable: string, refusal: FileFault | undefined): void => {
      if (!states.has(variable)) return;
      const isKnown = refusals.delete(variable);
      if (refusal) refusals.set(variable, refusal);
      if (refusal || isKnown) change(variable, refusal);
    },
    /** The files have another content. */
    forgetUse: (variables: readonly string[]): void => {
      for (const variable of variables) refusals.delete(variable);
    },
  };
};
