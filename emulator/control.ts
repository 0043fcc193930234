import type { IncomingMessage, ServerResponse } from 'node:http';
import { send, sendJson } from './answers.ts';
import { isBehaviour, isTokenBehaviour, listBehaviours, tokenBehaviours } from './behaviours.ts';
import type { Behaviour, ChangeGrant, TokenBehaviour } from './behaviours.ts';

// The emulator's control API: a page of text shows what the provider does and what else it can do,
// and PUT requests switch it. It shows no credentials and requires none, so it belongs on the
// loopback interface. Web pages of other origins cannot switch anything: PUT needs a CORS preflight,
// which is not answered.

/** What the control API uses of an emulator. */
export interface Controlled {
  readonly baseUrl: string;
  readonly tokenUrl: string;
  readonly controlUrl: string;
  readonly behaviour: Behaviour;
  readonly tokenBehaviour: TokenBehaviour;
  /** The number of requests so far for the list, and for a token. */
  listCalls(): number;
  tokenCalls(): number;
  /**
   * Sets the list's behaviour; `retryAfter` is for errors. Resolves when it is in effect, which
   * takes time only for changes to and from `refuse`.
   */
  behave(name: Behaviour, retryAfter?: string): Promise<void>;
  /** Sets the token endpoint's behaviour; `change` makes another grant of a good one. */
  behaveToken(name: TokenBehaviour, change?: ChangeGrant): void;
}

/** Answers one request to the control API. */
export async function answerControl(
  emulator: Controlled,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const { pathname: path, searchParams } = new URL(req.url ?? '', emulator.controlUrl);
  const [, kind, name = ''] = path.split('/', 3);
  const allow = path === '/' ? 'GET' : 'PUT';
  if (req.method !== allow) return sendJson(res, 405, { error: `use ${allow}` }, { allow });
  if (path === '/') return send(res, 200, 'text/plain; charset=utf-8', pageOf(emulator));

  if (kind === 'token-behaviour' && isTokenBehaviour(name)) {
    emulator.behaveToken(name);
    return sendJson(res, 200, { tokenBehaviour: name });
  }
  if (kind !== 'behaviour' || !isBehaviour(name))
    return sendJson(res, 404, { error: 'GET / lists every behaviour' });
  const retryAfter = searchParams.get('retryAfter') ?? '';
  if (!/^\d*$/.test(retryAfter))
    return sendJson(res, 400, { error: 'retryAfter is a number of seconds' });
  await emulator.behave(name, retryAfter);
  return sendJson(res, 200, { behaviour: name, ...(retryAfter && { retryAfter }) });
}

function pageOf(emulator: Controlled): string {
  return `An emulator of the provider, for development and tests.

Bank list       ${emulator.baseUrl}/api/v1/banks
                now: ${emulator.behaviour}, requests so far: ${emulator.listCalls()}
Token endpoint  ${emulator.tokenUrl}
                now: ${emulator.tokenBehaviour}, requests so far: ${emulator.tokenCalls()}

To change what the bank list does (errors take ?retryAfter=30):

    curl -X PUT ${emulator.controlUrl}/behaviour/unavailable

${tableOf(listBehaviours)}

To change what the token endpoint does:

    curl -X PUT ${emulator.controlUrl}/token-behaviour/server-error

${tableOf(tokenBehaviours)}
`;
}

function tableOf(behaviours: Readonly<Record<string, { readonly description: string }>>): string {
  return Object.entries(behaviours)
    .map(([name, { description }]) => `  ${name.padEnd(20)}${description}`)
    .join('\n');
}
