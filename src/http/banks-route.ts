import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BankList, HeldList, ServedList } from '../banks/bank-list.ts';
import { LoadError } from '../banks/load-error.ts';
import type { Coding, Representation } from '../banks/representation.ts';
import { cacheControl, cacheStatus, type CachePolicy } from './cache-fields.ts';
import { createNegotiate } from './content-coding.ts';
import type { FlatFields } from './cors.ts';
import { evaluatePreconditions, type Validators } from './preconditions.ts';
import { PROBLEM_OF_LOAD_ERROR, sendProblem } from './problems.ts';

// GET and HEAD /banks: the held bytes as they are, in the coding that the client prefers. All that an answer needs is
// made once per list and second; a request only chooses. It needs nothing of Express, and only before the first list
// does it wait for anything.

export interface BanksRouteOptions {
  readonly list: BankList;
  readonly cachePolicy: CachePolicy;
  /** Whether answers differ by origin (see cors.ts). */
  readonly variesByOrigin: boolean;
}

export const createBanksRoute = ({ list, cachePolicy, variesByOrigin }: BanksRouteOptions) => {
  const negotiate = createNegotiate();
  const prepare = createPrepare(cachePolicy, variesByOrigin ? 'Accept-Encoding, Origin' : 'Accept-Encoding');

  const answer = (req: IncomingMessage, res: ServerResponse, served: ServedList): void => {
    const failureKind = served.freshForMs < 0 ? list.status().failure?.kind : undefined;
    const prepared = prepare(served, failureKind);
    const choice = prepared[negotiate(req.headers['accept-encoding'])] ?? prepared.identity;
    switch (evaluatePreconditions(req.headers, choice.validators)) {
      case 'proceed':
        // Node sends no body in answer to HEAD.
        res.writeHead(200, [...choice.fields]).end(choice.body);
        return;
      case 'not_modified':
        res.writeHead(304, [...choice.notModifiedFields]).end();
        return;
      case 'precondition_failed':
        sendProblem(res, 'precondition_failed');
    }
  };

  return async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    let served = list.served();
    if (!served) {
      try {
        served = await list.arrival();
      } catch (error) {
        // Retry-After on every one: the list's own back-off knows when asking again can help.
        res.setHeader('Retry-After', Math.max(1, Math.ceil(list.status().nextLoadInMs / 1_000)));
        sendProblem(res, PROBLEM_OF_LOAD_ERROR[LoadError.from(error).kind]);
        return;
      }
    }
    answer(req, res, served);
  };
};

/** The two successful answers in one coding, ready to be sent. */
interface PreparedAnswer {
  readonly body: Buffer;
  readonly validators: Validators;
  readonly fields: FlatFields;
  /** Those of the 200 that RFC 9110 section 15.4.5 asks for; what describes the absent content stays out. */
  readonly notModifiedFields: FlatFields;
}

type PreparedAnswers = Readonly<Record<Exclude<Coding, 'zstd'>, PreparedAnswer>> & {
  readonly zstd?: PreparedAnswer;
};

/** Prepares the answers of one list, again only when a figure in their fields has changed: once a second at most. */
const createPrepare = (policy: CachePolicy, vary: string) => {
  let last:
    { list: HeldList; ttl: number; failureKind: string | undefined; answers: PreparedAnswers } | undefined;

  return (served: ServedList, failureKind: string | undefined): PreparedAnswers => {
    const ttl = Math.floor(served.freshForMs / 1_000);
    if (last?.list === served.list && last.ttl === ttl && last.failureKind === failureKind)
      return last.answers;
    const { representations, changedAtMs } = served.list;
    const changing = [
      'Cache-Control',
      cacheControl(served.freshForMs, policy),
      'Cache-Status',
      cacheStatus(served, failureKind),
      'Vary',
      vary,
    ];
    const toAnswer = (representation: Representation): PreparedAnswer =>
      prepareAnswer(representation, changedAtMs, changing);
    const { identity, gzip, br, zstd } = representations;
    const answers = {
      identity: toAnswer(identity),
      gzip: toAnswer(gzip),
      br: toAnswer(br),
      ...(zstd && { zstd: toAnswer(zstd) }),
    };
    last = { list: served.list, ttl, failureKind, answers };
    return answers;
  };
};

const prepareAnswer = (
  { coding, body, etag }: Representation,
  lastModifiedMs: number,
  changing: FlatFields,
): PreparedAnswer => {
  const notModifiedFields = ['ETag', etag, ...changing];
  return {
    body,
    validators: { etag, lastModifiedMs },
    notModifiedFields,
    fields: [
      'Content-Type',
      'application/json; charset=utf-8',
      ...(coding === 'identity' ? [] : ['Content-Encoding', coding]),
      'Content-Length',
      String(body.length),
      'Last-Modified',
      new Date(lastModifiedMs).toUTCString(),
      ...notModifiedFields,
    ],
  };
};
