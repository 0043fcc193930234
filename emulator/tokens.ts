import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { INTERNAL_DETAIL, sendFailure, sendJson } from './answers.ts';
import { tokenBehaviours } from './behaviours.ts';
import type { Grant, TokenBehaviour, TokenBehaviourRow } from './behaviours.ts';

// The emulated provider's tokens: which ones the list accepts, and the endpoint that issues them.
// The endpoint is an assumption, because the provider documents none: the client credentials grant
// of RFC 6749 (section 4.4), with client authentication by HTTP Basic unless a behaviour wants
// another. An issued token is rejected once it has expired.

/**
 * Settings of the tokens. With a lifetime of `null` tokens never expire and the grant has no
 * expires_in.
 */
export interface TokenSettings {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly fixedTokens: readonly string[];
  readonly lifetimeSeconds: number | null;
  readonly now: () => number;
}

/** The tokens of one emulator. */
export interface Tokens {
  /** Whether the value of an Authorization header contains a token that is valid now. */
  accepts(authorization: string | undefined): boolean;
  /** Replaces the fixed tokens; issued tokens stay valid. */
  acceptFixed(tokens: readonly string[]): void;
  /** Replaces the client secrets; issued tokens stay valid. */
  acceptSecrets(secrets: readonly string[]): void;
  /** Invalidates all tokens issued so far. */
  revokeIssued(): void;
  /** Answers one request to the token endpoint. */
  answer(req: IncomingMessage, res: ServerResponse, behaviour: TokenBehaviour): Promise<void>;
}

const MAX_FORM_BYTES = 16 * 1024;
/** A request for a token has five at most; the others are not read. */
const MAX_PARAMETERS = 20;
const MAX_ISSUED_TOKENS = 10_000;
const NO_STORE = { 'cache-control': 'no-store', pragma: 'no-cache' };

/** Creates the tokens of one emulator. Of the issued tokens the latest 10,000 are remembered. */
export function createTokens(settings: TokenSettings): Tokens {
  const { clientId, lifetimeSeconds, now } = settings;
  const issued = new Map<string, number>();
  let fixed: ReadonlySet<string> = new Set(settings.fixedTokens);
  let clientSecrets: ReadonlySet<string> = new Set([settings.clientSecret]);

  function issue(accepted: boolean): Grant {
    const token = randomBytes(24).toString('base64url');
    const seconds = lifetimeSeconds ?? Number.POSITIVE_INFINITY;
    if (accepted) issued.set(token, now() + seconds * 1000);
    const [oldest] = issued.keys();
    if (issued.size > MAX_ISSUED_TOKENS && oldest !== undefined) issued.delete(oldest);
    const grant = { access_token: token, token_type: 'Bearer' };
    return lifetimeSeconds === null ? grant : { ...grant, expires_in: lifetimeSeconds };
  }

  function accepts(authorization: string | undefined): boolean {
    const token = credentials(authorization, 'bearer');
    if (token === undefined) return false;
    return fixed.has(token) || (issued.get(token) ?? Number.NEGATIVE_INFINITY) > now();
  }

  async function answer(
    req: IncomingMessage,
    res: ServerResponse,
    behaviour: TokenBehaviour,
  ): Promise<void> {
    const row: TokenBehaviourRow = tokenBehaviours[behaviour];
    if ('fail' in row) return row.fail(req, res);

    const refuse = (status: number, error: string, description: string): void =>
      sendJson(
        res,
        status,
        { error, error_description: `${description} (${INTERNAL_DETAIL})` },
        NO_STORE,
      );

    const form = await readForm(req, row.format);
    const client = clientOf(req.headers.authorization, form, row.auth);
    if (client === undefined && form === undefined)
      return refuse(row.wrongFormatStatus ?? 400, ...WRONG_FORMAT);
    if (client?.id !== clientId || !clientSecrets.has(client.secret)) {
      const headers = { ...NO_STORE, 'www-authenticate': 'Basic realm="emulator"' };
      return sendFailure(req, res, 401, 'invalid_client', headers);
    }
    if (form === undefined) {
      return refuse(row.wrongFormatStatus ?? 400, ...WRONG_FORMAT);
    }
    if (form.getAll('grant_type').length !== 1) {
      return refuse(400, 'invalid_request', 'exactly one grant_type is required');
    }
    if (form.get('grant_type') !== 'client_credentials') {
      return refuse(400, 'unsupported_grant_type', 'only client_credentials is supported');
    }
    return sendJson(res, row.status ?? 200, row.grant(issue(row.accepted)), NO_STORE);
  }

  return {
    accepts,
    acceptFixed: (tokens) => {
      fixed = new Set(tokens);
    },
    acceptSecrets: (secrets) => {
      clientSecrets = new Set(secrets);
    },
    revokeIssued: () => issued.clear(),
    answer,
  };
}

/** The credentials after `scheme`, which is case-insensitive (RFC 9110, 11.1). */
function credentials(authorization: string | undefined, scheme: string): string | undefined {
  const [, name, value] = /^([^ ]+) +([^ ]+)/.exec(authorization ?? '') ?? [];
  return name?.toLowerCase() === scheme ? value : undefined;
}

const WRONG_FORMAT = ['invalid_request', 'the body is not written in the right format'] as const;

interface Client {
  readonly id: string;
  readonly secret: string;
}

/** Who asks; undefined where nobody says, or not in the required way. */
function clientOf(
  authorization: string | undefined,
  form: URLSearchParams | undefined,
  auth: 'basic' | 'basic_plain' | 'post' = 'basic',
): Client | undefined {
  if (auth !== 'post')
    return basicCredentials(authorization, auth === 'basic' ? formDecode : String);
  const [id, secret] = [form?.get('client_id'), form?.get('client_secret')];
  return authorization === undefined && id && secret ? { id, secret } : undefined;
}

function basicCredentials(
  authorization: string | undefined,
  decode: (text: string) => string,
): Client | undefined {
  const encoded = credentials(authorization, 'basic');
  if (encoded === undefined) return undefined;
  const pair = Buffer.from(encoded, 'base64').toString();
  const colon = pair.indexOf(':');
  if (colon < 0) return undefined;
  return { id: decode(pair.slice(0, colon)), secret: decode(pair.slice(colon + 1)) };
}

function formDecode(text: string): string {
  // Client id and secret are form-urlencoded before HTTP Basic encoding (RFC 6749, 2.3.1).
  return new URLSearchParams(`value=${text}`).get('value') ?? '';
}

const FORM_TYPE = 'application/x-www-form-urlencoded';
const JSON_TYPE = 'application/json';

/** The members of the body; undefined if it is too large or written in another format. */
async function readForm(
  req: IncomingMessage,
  format: 'form' | 'json' = 'form',
): Promise<URLSearchParams | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of req) {
    if (!(chunk instanceof Uint8Array)) continue;
    length += chunk.length;
    // Read a body that is too large to its end, so that the client still gets the response, but do
    // not keep it.
    if (length <= MAX_FORM_BYTES) chunks.push(chunk);
  }
  const type = req.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
  if (type !== (format === 'json' ? JSON_TYPE : FORM_TYPE) || length > MAX_FORM_BYTES)
    return undefined;
  const text = Buffer.concat(chunks).toString();
  if (format === 'json') return parametersInJson(text);
  return new URLSearchParams(text.split('&', MAX_PARAMETERS).join('&'));
}

/** The members of a JSON object, as if a form had sent them; undefined if it is not one. */
function parametersInJson(text: string): URLSearchParams | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    const members = new URLSearchParams();
    for (const [name, member] of Object.entries(value).slice(0, MAX_PARAMETERS))
      members.append(name, String(member));
    return members;
  } catch {
    return undefined;
  }
}
