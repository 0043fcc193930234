import type { IncomingMessage, ServerResponse } from 'node:http';
import { sendJson } from './answers.ts';
import { isBehaviour, isTokenBehaviour, listBehaviours, tokenBehaviours } from './behaviours.ts';
import type { Behaviour, BehaviourDetails, TokenBehaviour } from './behaviours.ts';

// The emulator's control API: it shows the current behaviours and the number of calls, and switches
// behaviours. It shows no credentials and requires none, so it belongs on the loopback interface.
// Web pages of other origins cannot switch anything: PUT needs a CORS preflight, which is not
// answered.

/** What the control API uses of an emulator. */
interface Controlled {
  readonly behaviour: Behaviour;
  readonly tokenBehaviour: TokenBehaviour;
  readonly maxConcurrentListCalls: number;
  allCalls(): number;
  listCalls(): number;
  tokenCalls(): number;
  behave(name: Behaviour, details?: BehaviourDetails): Promise<void>;
  behaveToken(name: TokenBehaviour): void;
}

/** Answers one request to the control API. */
export async function answerControl(
  emulator: Controlled,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const [path = '', query = ''] = (req.url ?? '').split('?', 2);
  const [, kind = '', name = '', ...rest] = path.split('/', 4);
  if (path === '/') {
    if (req.method !== 'GET') return sendJson(res, 405, { error: 'use GET' }, { allow: 'GET' });
    return sendJson(res, 200, state(emulator));
  }
  if ((kind !== 'behaviour' && kind !== 'token-behaviour') || rest.length > 0) {
    const known = ['GET /', 'PUT /behaviour/<name>', 'PUT /token-behaviour/<name>'];
    return sendJson(res, 404, { error: 'unknown path', known });
  }
  if (req.method !== 'PUT') return sendJson(res, 405, { error: 'use PUT' }, { allow: 'PUT' });

  if (kind === 'token-behaviour') {
    if (!isTokenBehaviour(name)) return sendUnknown(res, tokenBehaviours);
    emulator.behaveToken(name);
    return sendJson(res, 200, { tokenBehaviour: name });
  }
  if (!isBehaviour(name)) return sendUnknown(res, listBehaviours);
  try {
    const details = parseDetails(query);
    await emulator.behave(name, details);
    return sendJson(res, 200, { behaviour: name, ...details });
  } catch (error) {
    const message = error instanceof Error ? error.message : 'unknown error';
    return sendJson(res, error instanceof RangeError ? 400 : 500, { error: message });
  }
}

function state(emulator: Controlled): object {
  return {
    behaviour: emulator.behaviour,
    tokenBehaviour: emulator.tokenBehaviour,
    calls: {
      list: emulator.listCalls(),
      token: emulator.tokenCalls(),
      all: emulator.allCalls(),
      maxConcurrentList: emulator.maxConcurrentListCalls,
    },
    behaviours: describe(listBehaviours),
    tokenBehaviours: describe(tokenBehaviours),
  };
}

type Described = Readonly<Record<string, { readonly description: string }>>;

function describe(table: Described): Record<string, string> {
  return Object.fromEntries(
    Object.entries(table).map(([name, { description }]) => [name, description]),
  );
}

function sendUnknown(res: ServerResponse, table: Described): void {
  sendJson(res, 404, { error: 'unknown behaviour', known: Object.keys(table) });
}

/** @throws {RangeError} if the query is longer than any that has a meaning */
function parseDetails(query: string): BehaviourDetails {
  if (query.length > MAX_QUERY_CHARS) throw new RangeError('the query is too long');
  const parameters = new URLSearchParams(query);
  const delayMs = parameters.get('delayMs');
  return {
    retryAfter: parameters.get('retryAfter') ?? undefined,
    // Number('') is 0, but an empty parameter is a mistake: NaN makes the emulator reject it.
    delayMs: delayMs === null ? undefined : Number(delayMs || Number.NaN),
  };
}

const MAX_QUERY_CHARS = 200;
