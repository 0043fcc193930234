import { z } from 'zod';
import { LoadError } from '../banks/load-error.ts';
import { valueAt } from '../banks/reading/entry.ts';
import type { ClientCredentials } from '../config/provider.ts';
import { isJsonObject, parseJson, type JsonObject } from '../json.ts';
import { secretProblem, type SecretRule } from '../secrets/secret.ts';

// The client-credentials grant (RFC 6749 section 4.4) without the network: how the request for a
// token is written, and what its response says. Of the endpoint's text, only names of members and
// the error codes of RFC 6749 are repeated.

/** The request's own headers, and its body. */
export const writeTokenRequest = (
  { clientId, scope, format, auth, params }: ClientCredentials,
  clientSecret: string,
) => {
  const members = {
    grant_type: 'client_credentials',
    ...(scope !== undefined && { scope }),
    ...(auth === 'post' && { client_id: clientId, client_secret: clientSecret }),
    ...Object.fromEntries(new URLSearchParams(params?.reveal())),
  };
  const isForm = format === 'form';
  const encode = auth === 'basic' ? encodeForBasic : (text: string): string => text;
  const credentials = Buffer.from(`${encode(clientId)}:${encode(clientSecret)}`);
  return {
    headers: {
      accept: 'application/json',
      'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json',
      ...(auth !== 'post' && { authorization: `Basic ${credentials.toString('base64')}` }),
    },
    body: isForm ? new URLSearchParams(members).toString() : JSON.stringify(members),
  };
};

/**
 * Percent-encodes what a server that decodes forms would misread, and the colon. RFC 6749 section
 * 2.3.1 wants more characters encoded; but many servers do not decode, and for those a UUID, or a
 * secret in Base64 without a plus sign, must stay as it is.
 */
const encodeForBasic = (text: string): string =>
  // A lone surrogate cannot be encoded; a buffer replaces it.
  Buffer.from(text)
    .toString()
    .replaceAll(/[^\w.~!$'()*,/=@-]+/gu, encodeURIComponent);

export interface Grant {
  readonly token: string;
  /** Infinity if the endpoint gives no usable lifetime. */
  readonly lifetimeMs: number;
}

const GRANT = z.looseObject({
  token_type: z
    .string()
    .regex(/^bearer$/i)
    .nullish(),
  // RFC 6749 section 5.1 requires a number; many endpoints send a text.
  expires_in: z
    .union([
      z.number(),
      z
        .string()
        .trim()
        .regex(/^\d+(\.\d+)?$/)
        .transform(Number),
    ])
    .pipe(z.number().positive())
    .catch(Infinity),
});

/** The `reasonCode` of a 2xx response that is neither a grant nor an error with a code. */
export const UNUSABLE_GRANT = 'UNUSABLE_GRANT';

/**
 * The grant in a response with a 2xx status.
 * @param field where the token is
 * @throws {LoadError} `no_token`, with the error's code or UNUSABLE_GRANT as its `reasonCode`
 */
export const readGrant = (
  body: Buffer,
  status: number,
  { field, rule }: { readonly field: string; readonly rule: SecretRule },
): Grant => {
  const value = parseJson(textOf(body));
  if (!isJsonObject(value)) throw unusable(`its response (${status}) is not a JSON object`);
  const token = valueAt(value, field);
  // Some endpoints send the errors of RFC 6749 section 5.2 with status 200.
  if (typeof token !== 'string')
    throw (
      tokenErrorIn(value, status) ??
      unusable(`its response (${status}) has no text at ${field}${describeMembers(value)}`)
    );
  const problem = secretProblem(token, rule);
  if (problem !== undefined) throw unusable(`its ${field} ${problem}`);
  const grant = GRANT.safeParse(value);
  if (!grant.success) throw unusable('its token_type is not Bearer');
  return { token, lifetimeMs: 1_000 * grant.data.expires_in };
};

/** The error in a response with another status, if its body has one. */
export const readTokenError = (body: Buffer, status: number): LoadError | undefined => {
  const value = parseJson(textOf(body));
  return isJsonObject(value) ? tokenErrorIn(value, status) : undefined;
};

/** It drops a byte order mark. */
const textOf = (body: Buffer): string => new TextDecoder().decode(body);

const tokenErrorIn = ({ error }: JsonObject, status: number): LoadError | undefined => {
  const toCheck = typeof error === 'string' ? TO_CHECK.get(error) : undefined;
  if (typeof error !== 'string' || toCheck === undefined) return undefined;
  return new LoadError(
    'no_token',
    `the token endpoint refuses the request (${status} ${error}); check ${toCheck}`,
    { upstreamStatus: status, reasonCode: error },
  );
};

/** What to check, by the error codes of RFC 6749 section 5.2. */
const TO_CHECK: ReadonlyMap<string, string> = new Map([
  ['invalid_request', 'PROVIDER_TOKEN_FORMAT, PROVIDER_TOKEN_SCOPE and PROVIDER_TOKEN_PARAMS'],
  [
    'invalid_client',
    'PROVIDER_CLIENT_ID, PROVIDER_CLIENT_SECRET, and PROVIDER_TOKEN_AUTH (basic, basic_plain or post)',
  ],
  [
    'invalid_grant',
    'PROVIDER_CLIENT_ID and PROVIDER_CLIENT_SECRET, and whether that client may use the client-credentials grant',
  ],
  ['invalid_scope', 'PROVIDER_TOKEN_SCOPE'],
  ['unauthorized_client', 'whether PROVIDER_CLIENT_ID may use the client-credentials grant'],
  ['unsupported_grant_type', 'whether PROVIDER_TOKEN_URL grants client credentials'],
]);

const unusable = (what: string): LoadError =>
  new LoadError('no_token', `the token endpoint returned no usable token: ${what}`, {
    reasonCode: UNUSABLE_GRANT,
  });

/** The names of some members, to help find the one for PROVIDER_TOKEN_FIELD; tokens are longer. */
const describeMembers = (value: JsonObject): string => {
  const names = Object.keys(value).filter((name) => /^[A-Za-z][\w-]{0,19}$/.test(name));
  return names.length === 0
    ? ''
    : `; its members are ${names.slice(0, 8).join(', ')}; set PROVIDER_TOKEN_FIELD to the token's`;
};
