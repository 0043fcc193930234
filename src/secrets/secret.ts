// A secret in memory, and where secrets come from.

/** Printing or serialising it shows nothing; only `reveal` returns the text. */
export interface Secret {
  reveal(): string;
}

export const toSecret = (text: string): Secret => ({ reveal: () => text });

/** There is no secret to use. The message names each variable, and what is wrong with its file. */
export class SecretFileError extends Error {
  override readonly name = 'SecretFileError';
  readonly problems: ReadonlyMap<string, string>;

  /** @param problems what is wrong, by the variables of the files */
  constructor(problems: ReadonlyMap<string, string>) {
    super([...problems].map((problem) => problem.join(' ')).join('; '));
    this.problems = problems;
  }
}

/** The secrets that may be in a variable, or in the file that `${name}_FILE` names. */
export const SECRET_NAMES = [
  'MANAGEMENT_TOKEN',
  'PROVIDER_ACCESS_TOKEN',
  'PROVIDER_CLIENT_SECRET',
  'PROVIDER_HEADERS',
  'CACHE_REDIS_URL',
  'CACHE_SIGNING_KEY',
] as const;
/** Those of TLS, in PEM: only their files have variables. */
export const TLS_NAMES = ['PROVIDER_TLS_CA', 'PROVIDER_TLS_CERT', 'PROVIDER_TLS_KEY'] as const;
export type SecretName = (typeof SECRET_NAMES | typeof TLS_NAMES)[number];

/** A secret that a variable holds, or the file that holds it. */
export type SecretSource = Secret | { readonly path: string };

export type SecretSources = Readonly<Partial<Record<SecretName, SecretSource | undefined>>>;

/** What files contain, by the names of the secrets. */
export type Contents = Readonly<Partial<Record<SecretName, string>>>;

/** The sources of the secrets whose files are set. */
export const fileSourcesIn = (
  paths: Readonly<Partial<Record<`${SecretName}_FILE`, string | undefined>>>,
): SecretSources =>
  Object.fromEntries(
    [...SECRET_NAMES, ...TLS_NAMES].flatMap((name) => {
      const path = paths[`${name}_FILE`];
      return path ? [[name, { path }]] : [];
    }),
  );

/** The variable that is set: the one with the secret, or the one with the path of its file. */
export const variableOf = <Name extends SecretName>(
  name: Name,
  sources: SecretSources,
): Name | `${Name}_FILE` => {
  const source = sources[name];
  return source && 'path' in source ? `${name}_FILE` : name;
};
