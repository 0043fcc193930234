import { isPlainName } from '../banks/field-names.ts';
import { LoadError } from '../banks/load-error.ts';
import { secretProblem, type SecretRule } from '../secrets/secret.ts';
import { isJsonObject, parseJson, type JsonObject } from '../json.ts';

// Reads the response of the token endpoint: a grant, an error, or something else. Each message
// names the member and what was expected. Of the endpoint's text, only names of members and the
// error codes of RFC 6749 are repeated.

export interface Grant {
  readonly token: string;
  /** Infinity if the endpoint gives no lifetime, or one that cannot be used. */
  readonly lifetimeMs: number;
  /** Whether `expires_in` is present but unusable, such as 0 or `never`; it counts as missing. */
  readonly isLifetimeIgnored: boolean;
  /** Whether there was a `token_type`; without one the token counts as a Bearer token. */
  readonly isTyped: boolean;
}

/** The error codes of RFC 6749 section 5.2; no other text of the endpoint is repeated. */
const ERROR_CODE =
  /^(?:invalid_(?:request|client|grant|scope)|unauthorized_client|unsupported_grant_type)$/;

/** The `reasonCode` of a response that is neither a grant nor an error with a code. */
export const UNUSABLE_GRANT = 'UNUSABLE_GRANT';

/**
 * The grant in a response with a 2xx status.
 * @throws {LoadError} `no_token`, with the error's code or UNUSABLE_GRANT as its `reasonCode`
 */
export const readGrant = (body: string, status: number, rule: SecretRule): Grant => {
  const value = parseResponse(body);
  if (!isJsonObject(value))
    throw unusable(
      `its response (${status}) is not a JSON object, or has more than ${MAX_BRACKETS} brackets`,
    );
  const { access_token: token, token_type: type, expires_in: lifetime } = value;
  if (typeof token !== 'string')
    // Some endpoints send the errors of RFC 6749 section 5.2 with status 200.
    throw (
      tokenErrorIn(value, status) ??
      unusable(
        `its response (${status}) has no access_token that is a string${describeMembers(value)}`,
      )
    );
  const problem = secretProblem(token, rule);
  if (problem !== undefined) throw unusable(`its access_token ${problem}`);
  const isTyped = type !== undefined && type !== null;
  if (isTyped && !(typeof type === 'string' && type.toLowerCase() === 'bearer'))
    throw unusable('its token_type is not Bearer');
  const seconds = secondsOf(lifetime);
  return {
    token,
    lifetimeMs: 1_000 * (seconds ?? Infinity),
    isLifetimeIgnored: seconds === undefined,
    isTyped,
  };
};

/** The error in a response with another status, if its body has one. */
export const readTokenError = (body: string, status: number): LoadError | undefined => {
  const value = parseResponse(body);
  return isJsonObject(value) ? tokenErrorIn(value, status) : undefined;
};

/**
 * A grant is one object without nesting. Each bracket of a deeply nested value would take longer to
 * parse than a page of text.
 */
const parseResponse = (body: string): unknown =>
  // The limit ends the search, because counting 65,536 brackets would take 2 ms.
  body.split(/[[{]/, MAX_BRACKETS + 2).length - 1 > MAX_BRACKETS ? undefined : parseJson(body);

const MAX_BRACKETS = 64;

const tokenErrorIn = ({ error }: JsonObject, status: number): LoadError | undefined => {
  if (typeof error !== 'string' || !ERROR_CODE.test(error)) return undefined;
  const text = `the token endpoint refuses the request (${status} ${error}); check ${TO_CHECK[error] ?? ''}`;
  return new LoadError('no_token', text, { upstreamStatus: status, reasonCode: error });
};

/** What to check, by the error's code. */
const TO_CHECK: Readonly<Record<string, string>> = {
  invalid_request: 'PROVIDER_TOKEN_FORMAT and PROVIDER_TOKEN_SCOPE',
  invalid_client: 'PROVIDER_CLIENT_ID, PROVIDER_CLIENT_SECRET and PROVIDER_TOKEN_AUTH',
  invalid_grant:
    'PROVIDER_CLIENT_ID and PROVIDER_CLIENT_SECRET, and whether that client may use the client-credentials grant',
  invalid_scope: 'PROVIDER_TOKEN_SCOPE',
  unauthorized_client: 'whether PROVIDER_CLIENT_ID may use the client-credentials grant',
  unsupported_grant_type: 'whether PROVIDER_TOKEN_URL grants client credentials',
};

/**
 * Infinity if there is no lifetime; undefined if it is not a positive number of seconds. RFC 6749
 * section 5.1 requires a number; many endpoints send a string.
 */
const secondsOf = (lifetime: unknown): number | undefined => {
  if (lifetime === undefined || lifetime === null) return Infinity;
  const isText = typeof lifetime === 'string' && /^\s*\d+(?:\.\d+)?\s*$/.test(lifetime);
  const seconds = isText || typeof lifetime === 'number' ? Number(lifetime) : NaN;
  return seconds > 0 ? seconds : undefined;
};

const unusable = (what: string): LoadError =>
  new LoadError('no_token', `the token endpoint returned no usable token: ${what}`, {
    reasonCode: UNUSABLE_GRANT,
  });

const MAX_MEMBERS = 8;
/** Tokens are longer. */
const MAX_MEMBER_CHARS = 20;

/** The names of the members, to help find the one that is the token. */
const describeMembers = (value: JsonObject): string => {
  const names = Object.keys(value).filter(
    (name) => isPlainName(name) && name.length <= MAX_MEMBER_CHARS,
  );
  return names.length === 0 ? '' : `; its members are ${names.slice(0, MAX_MEMBERS).join(', ')}`;
};
