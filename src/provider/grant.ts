import { z } from 'zod';
import { LoadError } from '../banks/load-error.ts';
import { valueAt } from '../banks/reading/entry.ts';
import { isPlainName } from '../banks/reading/provider-fields.ts';
import type { Grants } from '../config/config.ts';
import { isJsonObject, parseJson, type JsonObject } from '../json.ts';
import { encodeForBasic, secretProblem } from '../secrets/secret-rules.ts';
import type { ExchangeResponse } from './exchange.ts';
import { toStatusError } from './status.ts';

// The client-credentials grant (RFC 6749 section 4.4) without the network: how the request for a
// token is written, and what its response says. Of the endpoint's text, only the error codes of RFC
// 6749 and the name of a member are repeated.

/** The request's own headers, and its body. */
export const writeTokenRequest = (
  { clientId, scope, format, auth, params }: Grants,
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

export interface Grant {
  readonly token: string;
  /** Infinity if the endpoint gives no usable lifetime. */
  readonly lifetimeMs: number;
}

/** What stands beside the token. */
const GRANT = z.looseObject({
  token_type: z
    .string()
    .regex(/^bearer$/i)
    .nullish(),
  // RFC 6749 section 5.1 requires a number; many endpoints send a text.
  expires_in: z.coerce.number().positive().catch(Infinity),
});

/** RFC 6749 section 5.2. Some endpoints send these with status 200. */
const ERROR_CODE =
  /^(?:invalid_(?:request|client|grant|scope)|unauthorized_client|unsupported_grant_type)$/;

/** What is needed to read a grant. */
export interface GrantContext {
  /** Where the token is. */
  readonly field: string;
  /** `production` refuses weak tokens. */
  readonly environment: string;
  /** Wall-clock milliseconds. */
  readonly nowMs: number;
}

/**
 * What the token endpoint grants: any 2xx with a usable token does.
 * @throws {LoadError} if it grants nothing
 */
export const readGrant = (
  response: ExchangeResponse,
  { field, environment, nowMs }: GrantContext,
): Grant => {
  const { status, body } = response;
  // The decoder drops a byte order mark.
  const json = parseJson(new TextDecoder().decode(body));
  const value = isJsonObject(json) ? json : {};
  const token = valueAt(value, field);
  if (status < 300 && typeof token === 'string') {
    const problem = secretProblem('PROVIDER_ACCESS_TOKEN', token, environment);
    if (problem !== undefined) throw noToken(`grants a token that ${problem}`);
    const around = valueAt(value, field.slice(0, Math.max(0, field.lastIndexOf('.'))));
    const grant = GRANT.safeParse(isJsonObject(around) ? around : value);
    if (!grant.success) throw noToken('grants a token whose token_type is not Bearer');
    return { token, lifetimeMs: 1_000 * grant.data.expires_in };
  }
  if (status === 429 || status >= 500) throw toStatusError('the token endpoint', response, nowMs);
  const { error } = value;
  const isRefusal = typeof error === 'string' && ERROR_CODE.test(error);
  const [found] = status < 300 ? tokenPathsIn(value) : [];
  const hint = found === undefined ? '' : `; PROVIDER_TOKEN_FIELD=${found} may be right`;
  throw noToken(
    isRefusal
      ? `refuses the request (${status} ${error})`
      : `responds with status ${status} and no token at ${field}${hint}`,
    status,
  );
};

/** Where else a grant may have the access token, by the names of its texts; at most two deep. */
const tokenPathsIn = (grant: JsonObject, prefix = ''): string[] =>
  Object.entries(grant).flatMap(([name, value]) => {
    if (isJsonObject(value) && prefix === '') return tokenPathsIn(value, `${name}.`);
    const path = prefix + name;
    const isToken = /token|jwt/i.test(name) && !/type|refresh|^id/i.test(name);
    return typeof value === 'string' && isToken && isPlainName(path) ? [path] : [];
  });

const noToken = (what: string, upstreamStatus?: number): LoadError =>
  new LoadError('no_token', `the token endpoint ${what}`, { upstreamStatus });
