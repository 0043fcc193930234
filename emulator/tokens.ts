import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { INTERNAL_DETAIL, sendFailure, sendJson } from './answers.ts';
import { tokenBehaviours } from './behaviours.ts';
import type { Grant, TokenBehaviour, TokenBehaviourRow } from './behaviours.ts';

// The emulated provider's tokens: which ones the list accepts, and the endpoint that issues them.
// The endpoint is an assumption, because the provider documents none: the client credentials grant
// of RFC 6749 (section 4.4), with client authentication by HTTP Basic unless a behaviour wants
// another. An issued token is rejected once it has expired.

/** With a lifetime of `null` tokens never expire, and the grant has no expires_in. */
export interface TokenSettings {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly fixedTokens: readonly string[];
  readonly lifetimeSeconds: number | null;
  readonly now: () => number;
}

const MAX_BODY_BYTES = 16 * 1024;
const MAX_PARAMETERS = 20;
const MAX_ISSUED_TOKENS = 10_000;
const NO_STORE = { 'cache-control': 'no-store', pragma: 'no-cache' };

/** Creates the tokens of one emulator. Of the issued tokens the latest 10,000 are remembered. */
export function createTokens(settings: TokenSettings) {
  const { clientId, lifetimeSeconds, now } = settings;
  /** When each expires. */
  const issued = new Map<string, number>();
  let fixed: ReadonlySet<string> = new Set(settings.fixedTokens);
  let clientSecrets: ReadonlySet<string> = new Set([settings.clientSecret]);

  function issue(isAccepted: boolean): Grant {
    const token = randomBytes(24).toString('base64url');
    if (isAccepted) issued.set(token, now() + (lifetimeSeconds ?? Infinity) * 1000);
    const [oldest] = issued.keys();
    if (issued.size > MAX_ISSUED_TOKENS && oldest !== undefined) issued.delete(oldest);
    const grant = { access_token: token, token_type: 'Bearer' };
    return lifetimeSeconds === null ? grant : { ...grant, expires_in: lifetimeSeconds };
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
    /** Answers one request to the token endpoint. */
    async answer(
      req: IncomingMessage,
      res: ServerResponse,
      behaviour: TokenBehaviour,
    ): Promise<void> {
      const row: TokenBehaviourRow = tokenBehaviours[behaviour];
      if (row.fail) return row.fail(req, res);
      const refuse = (status: number, error: string): void =>
        sendJson(res, status, { error, error_description: INTERNAL_DETAIL }, NO_STORE);

      const parameters = await readParameters(req, row.format);
      const client = clientOf(req.headers.authorization, parameters, row.auth);
      if (!parameters && !client) return refuse(row.wrongFormatStatus ?? 400, 'invalid_request');
      if (client?.id !== clientId || !clientSecrets.has(client.secret)) {
        const headers = { ...NO_STORE, 'www-authenticate': 'Basic realm="emulator"' };
        return sendFailure(req, res, 401, 'invalid_client', headers);
      }
      if (!parameters) return refuse(row.wrongFormatStatus ?? 400, 'invalid_request');
      if (parameters.get('grant_type') !== 'client_credentials')
        return refuse(400, 'unsupported_grant_type');
      const grant = issue(row.isRejected !== true);
      return sendJson(res, row.status ?? 200, row.change?.(grant) ?? grant, NO_STORE);
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
  parameters: URLSearchParams | undefined,
  auth: 'basic' | 'basic_plain' | 'post' = 'basic',
): { readonly id: string; readonly secret: string } | undefined {
  if (auth === 'post') {
    const [id, secret] = [parameters?.get('client_id'), parameters?.get('client_secret')];
    return authorization === undefined && id && secret ? { id, secret } : undefined;
  }
  const pair = Buffer.from(credentials(authorization, 'basic') ?? '', 'base64').toString();
  const colon = pair.indexOf(':');
  if (colon < 0) return undefined;
  const decode = auth === 'basic' ? formDecode : String;
  return { id: decode(pair.slice(0, colon)), secret: decode(pair.slice(colon + 1)) };
}

/** Id and secret are form-encoded before HTTP Basic encoding (RFC 6749, 2.3.1). */
function formDecode(text: string): string {
  return new URLSearchParams(`value=${text}`).get('value') ?? '';
}

/** The members of the body; undefined if it is too large or written in another format. */
async function readParameters(
  req: IncomingMessage,
  format: 'form' | 'json' = 'form',
): Promise<URLSearchParams | undefined> {
  let text = '';
  // A body that is too large is read to its end, so that the client still gets the response.
  for await (const chunk of req) if (text.length <= MAX_BODY_BYTES) text += String(chunk);
  const isJson = /^application\/json\b/i.test(req.headers['content-type'] ?? '');
  if (isJson !== (format === 'json') || text.length > MAX_BODY_BYTES) return undefined;
  if (!isJson) return new URLSearchParams(text.split('&', MAX_PARAMETERS).join('&'));
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    const members = Object.entries(value).slice(0, MAX_PARAMETERS);
    return new URLSearchParams(
      Object.fromEntries(members.map(([name, member]) => [name, String(member)])),
    );
  } catch {
    return undefined;
  }
}
