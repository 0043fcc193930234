import type { Clock } from '../clock.ts';

// Whether each secret file is usable. Reading it can fail (noteReading), and so can using its
// content (noteUse): Redis may refuse the password in it. Each change of a state is one event.

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
  /** Of the files that could not be used when they were last read. */
  const readingFaults = new Map<string, FileFault>();
  /** Of the files whose content was refused where it was used. */
  const refusals = new Map<string, FileFault>();

  /** If reading a file fails, that is reported, and not what the content in use did before. */
  const update = (variable: string): void => {
    const fault = readingFaults.get(variable) ?? refusals.get(variable);
    const known = states.get(variable)?.unusable;
    if (known?.problem === fault?.problem && known?.consequence === fault?.consequence) return;
    const sinceMs = known?.sinceMs ?? clock.wallMs();
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
     * Notes the result of using the content of a file: a refusal; undefined: it works. A refusal is
     * a fault of the file, until the content changes or works. Ignored if the secret is in no file.
     */
    noteUse: (variable: string, refusal: FileFault | undefined): void => {
      if (!states.has(variable)) return;
      note(refusals, variable, refusal);
      update(variable);
    },
    /** Notes what it means by now that the content of a file was refused, if it was. */
    noteConsequence: (variable: string, consequence: string): void => {
      const refusal = refusals.get(variable);
      if (!refusal) return;
      refusals.set(variable, { ...refusal, consequence });
      update(variable);
    },
    /** The files have another content. */
    forgetUse: (variables: readonly string[]): void => {
      for (const variable of variables) refusals.delete(variable);
    },
  };
};

/** Those that cannot be used. */
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
