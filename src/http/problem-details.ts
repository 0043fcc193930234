import type { Response } from 'express';
import problems from './problems.json' with { type: 'json' };

// Every error response of the service: problems.json, a closed table of codes, sent as problem+json
// (RFC 9457). Nothing in a response comes from an error object, the provider or the request.

/** The status, the title and the detail of each. */
const PROBLEMS = { ...problems.public, ...problems.management };

export type ProblemCode = keyof typeof PROBLEMS;

const isProblemCode = (code: string): code is ProblemCode => Object.hasOwn(PROBLEMS, code);

/**
 * The problem as clients read it. `more`: extension members (RFC 9457 section 3.2), or a more
 * specific `detail`.
 */
export const problemOf = (code: ProblemCode, more: ProblemMembers = {}) => {
  const { status, title, detail } = PROBLEMS[code];
  const type = `urn:problem-type:banks-bff:${code.replaceAll('_', '-')}`;
  return { type, status, title, detail, code, ...more };
};

type ProblemMembers = Readonly<Record<string, string | object>>;

/** What the public port answers; the others are the management port's own. */
export const PUBLIC_PROBLEM_CODES: readonly ProblemCode[] = Object.keys(problems.public).filter(
  isProblemCode,
);

/** The whole response, with the headers as `writeHead` takes them. */
export const problemResponse = (code: ProblemCode, more?: ProblemMembers) => {
  const problem = problemOf(code, more);
  const body = JSON.stringify(problem);
  const length = String(Buffer.byteLength(body));
  const headers = ['Content-Type', 'application/problem+json', 'Content-Length', length];
  return { status: problem.status, headers: [...headers, 'Cache-Control', 'no-store'], body };
};

/**
 * Answers with the problem `code` and ends the response. Headers set on `res` before, such as
 * `Allow`, are kept.
 */
export const sendProblem = (res: Response, code: ProblemCode, more?: ProblemMembers): void => {
  res.locals.problem = code;
  const { status, headers, body } = problemResponse(code, more);
  res.writeHead(status, headers).end(body);
};
