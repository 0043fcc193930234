// A secret in memory, and the rules for secrets, whether they come from a variable, a file or the
// token endpoint.

/** Printing or serialising it shows nothing; only `reveal` returns the text. */
export interface Secret {
  reveal(): string;
}

export const toSecret = (text: string): Secret => ({ reveal: () => text });

/** A large JWT has 4 kB; servers refuse header sections of more than 8 to 16 kB. */
export const MAX_SECRET_BYTES = 8_192;

export interface SecretRule {
  readonly minChars: number;
  /** Whether it is a bearer token, which a header must be able to carry. */
  readonly bearer: boolean;
}

/** In the sandbox; see {@link ruleFor}. */
export const PROVIDER_TOKEN_RULE: SecretRule = { bearer: true, minChars: 1 };
export const PROVIDER_SECRET_RULE: SecretRule = { bearer: false, minChars: 1 };

/**
 * `rule` for a secret of the provider in `environment`: in production a shorter secret can be
 * guessed, and occurs in ordinary text, so that it cannot be redacted.
 */
export const ruleFor = (
  environment: 'sandbox' | 'production' | undefined,
  rule: SecretRule,
): SecretRule => (environment === 'production' ? { ...rule, minChars: 8 } : rule);

/** Anybody on the network can try to guess it; 16 random letters and digits are 95 bits. */
export const MANAGEMENT_TOKEN_RULE: SecretRule = { bearer: true, minChars: 16 };

/**
 * What is signed with it is trusted by all replicas, and can be tried against guesses without
 * asking anybody.
 */
export const SIGNING_KEY_RULE: SecretRule = { bearer: false, minChars: 32 };

/**
 * The secrets of the emulator and of the compose file: everybody knows them, and a list made with
 * them is not a real one.
 */
const DEMO_SECRETS = ['emulator-access-token', 'emulator-secret', 'demo-management-token'];

/** What is wrong with `secret` in production, if it is one of the demo's. */
export const demoProblem = (secret: string): string | undefined =>
  DEMO_SECRETS.includes(secret.trim())
    ? 'is the demo secret, which is public; use another one in production'
    : undefined;

/** What is wrong with `secret`, without quoting it; undefined if nothing is. */
export const secretProblem = (
  secret: string,
  { minChars, bearer }: SecretRule,
): string | undefined => {
  if (Buffer.byteLength(secret) > MAX_SECRET_BYTES)
    return `has more than ${MAX_SECRET_BYTES} bytes`;
  if (secret === '') return 'is empty';
  // RFC 6749 appendix A.2 allows no control characters in a client secret.
  if (/[\r\n\0]/.test(secret))
    return 'has more than one line, or a NUL character; keep the line with the secret';
  if (bearer && /^bearer\s/i.test(secret))
    return 'begins with the word Bearer, which must not be there; write the token alone';
  // As in a scope (RFC 6749 appendix A.4); RFC 6750 section 2.1 is narrower still.
  if (bearer && !/^[\x21\x23-\x5b\x5d-\x7e]*$/.test(secret))
    return 'has a character that no token has, such as a space, " or \\';
  if (secret.length < minChars) return `has fewer than ${minChars} characters`;
  return undefined;
};
