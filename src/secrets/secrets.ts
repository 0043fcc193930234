import type { Clock } from '../clock.ts';
import { createSecretFiles, unusableOf, type SecretFilesOptions } from './secret-files.ts';
import { secretParts } from './secret-rules.ts';
import { SECRET_NAMES, TLS_NAMES, type SecretName, type SecretSources } from './secret.ts';
import { createTlsContext } from './tls-context.ts';

// The secrets in use: some are in variables, others in files. A file is read at each use, every
// 10 s, and by POST /refresh.

const LOOK_EVERY_MS = 10_000;

export interface SecretsOptions extends SecretFilesOptions {
  readonly clock: Pick<Clock, 'wallMs' | 'after'>;
}

export type Secrets = ReturnType<typeof createSecrets>;

export const createSecrets = (sources: SecretSources, options: SecretsOptions) => {
  const { addSecret, clock } = options;
  const pathsOf = (names: readonly SecretName[]): ReadonlyMap<SecretName, string> =>
    new Map(
      names.flatMap((name) => {
        const source = sources[name];
        return source && 'path' in source ? [[name, source.path] as const] : [];
      }),
    );
  // They are used together: in the middle of a rotation they do not fit each other.
  const tls = createSecretFiles(pathsOf(TLS_NAMES), createTlsContext, options);
  const single = new Map(
    [...pathsOf(SECRET_NAMES)].map(([name, path]) => [
      name,
      createSecretFiles(new Map([[name, path]]), (contents) => contents[name] ?? '', options),
    ]),
  );
  for (const name of SECRET_NAMES) {
    const source = sources[name];
    if (source && 'reveal' in source) addSecret(name, secretParts(name, source.reveal()));
  }
  const all = [...single.values(), tls];
  const states = () => all.flatMap((files) => files.states());
  let isStopped = false;
  let cancelNext = (): void => {};

  /** Reads all files again. @returns the unusable ones */
  const check = async () => {
    await Promise.allSettled(all.map((files) => files.read()));
    return unusableOf(states());
  };

  const start = (): void => {
    if (isStopped || states().length === 0) return;
    cancelNext = clock.after(LOOK_EVERY_MS, () => void check().then(start));
  };

  return {
    /**
     * A configured secret as it is now, from its variable or its file.
     * @throws {SecretFileError} if its file has no content to use
     */
    read: async (name: SecretName): Promise<string> => {
      const source = sources[name];
      if (source && 'reveal' in source) return source.reveal();
      const file = single.get(name);
      if (!file) throw new Error(`${name} is not configured`);
      return file.read();
    },
    /**
     * What a connection to the provider uses: TLS 1.2 or newer, with the newest files that fit each
     * other. @throws {SecretFileError} if there have never been any
     */
    tlsContext: tls.read,
    check,
    /** The state of each file, as it was when it was last read. */
    states,
    /** Reads all files every 10 s, so that a change is reported before its content is used. */
    start,
    /** Ends this. */
    stop: (): void => {
      isStopped = true;
      cancelNext();
    },
  };
};
