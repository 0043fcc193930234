import type { Clock } from '../clock.ts';

// Whether each secret file is usable. Reading it can fail (noteReading), and so can using its
// content (noteUse): Redis may reject the password in it. Each change of a state is one event.

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

export type SecretFileEvent =
  | ({ readonly type: 'secret-file-unusable'; readonly variable: string } & FileFault)
  | { readonly type: 'secret-file-usable'; readonly variable: string };

export interface FileStatesOptions {
  readonly clock: Pick<Clock, 'wallMs'>;
  readonly onEvent: (event: SecretFileEvent) => void;
}

export const createFileStates = ({ clock, onEvent }: FileStatesOptions) => {
  /** By variable. */
  const states = new Map<string, SecretFileState>();
  /** By variable: why the file could not be used when it was last read. */
  const readingFaults = new Map<string, FileFault>();
  /** By variable: why the content of the file was rejected when it was used. */
  const useFaults = new Map<string, FileFault>();

  /**
   * A fault of the last reading comes before one of the last use, which may be about other content.
   */
  const update = (variable: string): void => {
    const fault = readingFaults.get(variable) ?? useFaults.get(variable);
    const reported = states.get(variable)?.unusable;
    if (reported?.problem === fault?.problem && reported?.consequence === fault?.consequence)
      return;
    const sinceMs = reported?.sinceMs ?? clock.wallMs();
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
    unusable: () => unusableOf([...states.values()]),
    areUsable: (variables: readonly string[]): boolean =>
      variables.every((variable) => !states.get(variable)?.unusable),
    /** Notes the result of reading a file: a fault; undefined: it can be used. */
    noteReading: (variable: string, fault: FileFault | undefined): void => {
      note(readingFaults, variable, fault);
      update(variable);
    },
    /**
     * Notes the result of using the content of a file: a fault; undefined: it works. The fault
     * lasts until the content changes or works. Ignored if the secret is not in a file.
     */
    noteUse: (variable: string, fault: FileFault | undefined): void => {
      if (!states.has(variable)) return;
      note(useFaults, variable, fault);
      update(variable);
    },
    /** Updates the consequence of a fault of use, if there is one. */
    noteConsequence: (variable: string, consequence: string): void => {
      const fault = useFaults.get(variable);
      if (!fault) return;
      useFaults.set(variable, { ...fault, consequence });
      update(variable);
    },
    /** The files have another content. */
    forgetUse: (variables: readonly string[]): void => {
      for (const variable of variables) useFaults.delete(variable);
    },
  };
};

/** The files that cannot be used. */
export const unusableOf = (states: readonly SecretFileState[]) =>
  states.flatMap(({ variable, unusable }) => (unusable ? [{ variable, ...unusable }] : []));

const note = (
  faults: Map<string, FileFault>,
  variable: string,
  fault: FileFault | undefined,
): void => {
  if (fault) faults.set(variable, fault);
  else faults.delete(variable);
};
