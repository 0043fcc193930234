// What a secret has to be, wherever it comes in: a variable, a file, or an answer of the token endpoint.

/** A large JWT has 4 kB; servers refuse heads of more than 8 to 16 kB. */
export const MAX_SECRET_BYTES = 8_192;

/** In production: what is shorter is found by trying, and occurs in ordinary text. */
export const MIN_PRODUCTION_CHARS = 8;

/** It is checked against guesses from the network; 16 random letters and digits are 95 bits. */
export const MIN_MANAGEMENT_TOKEN_CHARS = 16;

export interface SecretRule {
  readonly minChars: number;
  /** Whether it has to be a bearer token, which stands in a header as it is. */
  readonly bearer: boolean;
}

/** In the sandbox; see {@link ruleIn}. */
export const PROVIDER_TOKEN_RULE: SecretRule = { bearer: true, minChars: 1 };
export const PROVIDER_SECRET_RULE: SecretRule = { bearer: false, minChars: 1 };

/** A rule of the provider's secrets as it is in `environment`. */
export const ruleIn = (environment: 'sandbox' | 'production' | undefined, rule: SecretRule): SecretRule =>
  environment === 'production' ? { ...rule, minChars: MIN_PRODUCTION_CHARS } : rule;

export const MANAGEMENT_TOKEN_RULE: SecretRule = { bearer: true, minChars: MIN_MANAGEMENT_TOKEN_CHARS };

/** What is wrong with `secret`, or undefined; never with any part of it. */
export const secretProblem = (secret: string, { minChars, bearer }: SecretRule): string | undefined => {
  if (Buffer.byteLength(secret) > MAX_SECRET_BYTES) return `has more than ${MAX_SECRET_BYTES} bytes`;
  // Visible ASCII (RFC 6750 section 2.1 is narrower still).
  if (bearer && !/^[\x21-\x7e]*$/.test(secret))
    return 'has a character that a header cannot carry, such as a space or a line break';
  if (secret.includes('\0')) return 'has a NUL character';
  if (secret === '') return 'is empty';
  // Encoders multiply backslashes, so the log is searched without them.
  if (secret.replaceAll('\\', '').length < minChars)
    return `has fewer than ${minChars} characters, not counting backslashes`;
  return undefined;
};
