import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { INTERNAL_DETAIL, sendFailure, sendJson } from './answers.ts';
import { tokenBehaviours } from './behaviours.ts';
import type { ChangeGrant, Grant, TokenBehaviour, TokenBehaviourRow } from './behaviours.ts';

// The emulated provider's tokens: which ones the list accepts, and the endpoint that issues them.
// The endpoint is an assumption, because the provider documents none: the client credentials grant
// of RFC 6749 (section 4.4), with client authentication by HTTP Basic unless a behaviour wants
// another. An issued token is rejected once it has expired.

export interface TokenSettings {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly fixedTokens: readonly string[];
  readonly lifetimeSeconds: number;
  readonly now: () => number;
}

const NO_STORE = { 'cache-control': 'no-store', pragma: 'no-cache' };

/** Creates the tokens of one emulator. */
export function createTokens(settings: TokenSettings) {
  const { clientId, lifetimeSeconds, now } = settings;
  /** When each expires. */
  const issued = new Map<string, number>();
  let fixed: ReadonlySet<string> = new Set(settings.fixedTokens);
  let clientSecrets: ReadonlySet<string> = new Set([settings.clientSecret]);

  function issue(isAccepted: boolean): Grant {
    const token = randomBytes(24).toString('base64url');
    if (isAccepted) issued.set(token, now() + lifetimeSeconds * 1000);
    return { access_token: token, token_type: 'Bearer', expires_in: lifetimeSeconds };
  }

  return {
    /** Whether the value of an Authorization header contains a token that is valid now. */
    accepts(authorization: string | undefined): boolean {
      const token = credentials(authorization, 'bearer');
      if (token === undefined) return false;
      return fixed.has(token) || (issued.get(token) ?? -Infinity) > now();
    },
    /** Replaces the fixed tokens; issued tokens stay valid. */
    acceptFixed: (tokens: readonly string[]) => void (fixed = new Set(tokens)),
    /** Replaces the client secrets; issued tokens stay valid. */
    acceptSecrets: (secrets: readonly string[]) => void (clientSecrets = new Set(secrets)),
    /** Invalidates all tokens issued so far. */
    revokeIssued: () => issued.clear(),
    /** Answers one request to the token endpoint; `change` makes another grant of a good one. */
    async answer(
      req: IncomingMessage,
      res: ServerResponse,
      behaviour: TokenBehaviour,
      change: ChangeGrant,
    ): Promise<void> {
      const row: TokenBehaviourRow = tokenBehaviours[behaviour];
      if (row.fail) return row.fail(req, res);
      const refuse = (status: number, error: string): void =>
        sendJson(res, status, { error, error_description: INTERNAL_DETAIL }, NO_STORE);

      const parameters = await readParameters(req, row.format);
      if (!parameters) return refuse(row.wrongFormatStatus ?? 400, 'invalid_request');
      const client = clientOf(req.headers.authorization, parameters, row.auth);
      if (client?.id !== clientId || !clientSecrets.has(client.secret)) {
        const headers = { ...NO_STORE, 'www-authenticate': 'Basic realm="emulator"' };
        return sendFailure(req, res, 401, 'invalid_client', headers);
      }
      if (parameters.get('grant_type') !== 'client_credentials')
        return refuse(400, 'unsupported_grant_type');
      const grant = issue(row.isRejected !== true);
      return sendJson(res, 200, row.change?.(grant) ?? change(grant), NO_STORE);
    },
  };
}

/** The credentials after `scheme`, which is case-insensitive (RFC 9110, 11.1). */
function credentials(authorization: string | undefined, scheme: string): string | undefined {
  const [, name, value] = /^([^ ]+) +([^ ]+)/.exec(authorization ?? '') ?? [];
  return name?.toLowerCase() === scheme ? value : undefined;
}

/** Who asks; undefined where nobody says, or not in the required way. */
function clientOf(
  authorization: string | undefined,
  parameters: URLSearchParams,
  auth: 'basic' | 'basic_plain' | 'post' = 'basic',
): { readonly id: string; readonly secret: string } | undefined {
  if (auth === 'post') {
    const [id, secret] = [parameters.get('client_id'), parameters.get('client_secret')];
    return authorization === undefined && id && secret ? { id, secret } : undefined;
  }
  const pair = Buffer.from(credentials(authorization, 'basic') ?? '', 'base64').toString();
  const colon = pair.indexOf(':');
  if (colon < 0) return undefined;
  const decode = auth === 'basic' ? formDecode : String;
  return { id: decode(pair.slice(0, colon)), secret: decode(pair.slice(colon + 1)) };
}

/** Id and secret are form-encoded before HTTP Basic encoding (RFC 6749, 2.3.1). */
function formDecode(encoded: string): string {
  return new URLSearchParams(`value=${encoded}`).get('value') ?? '';
}

/** The members of the body; undefined if it is written in another format. */
async function readParameters(
  req: IncomingMessage,
  format: 'form' | 'json' = 'form',
): Promise<URLSearchParams | undefined> {
  const body = await text(req);
  const isJson = req.headers['content-type'] === 'application/json';
  if (isJson !== (format === 'json')) return undefined;
  return new URLSearchParams(isJson ? JSON.parse(body) : body);
}
