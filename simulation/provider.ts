import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { LoadError, type LoadErrorKind } from '../src/banks/load-error.ts';
import type { Connections, ConnectionsOptions } from '../src/provider/connections.ts';
import { ANSWERS, GRANTS, type Answer, type AnswerName, type Grant, type GrantName } from './answers.ts';
import { createBankVersions, type BankVersion, type Published } from './bank-versions.ts';
import type { Owner, World } from './world.ts';

// The provider and its token endpoint, at the interface of src/provider/connections.ts. They keep account of what they were
// asked and what they have sent: that is the truth that replicas are judged by.

/** A list, or the word that it has not changed, has reached a replica. */
export interface Delivery {
  readonly version: BankVersion;
  readonly askedAtMs: number;
  /** The provider looked at its list. */
  readonly formedAtMs: number;
  readonly deliveredAtMs: number;
  readonly isWhole: boolean;
}

/** One request of a replica for the list. */
export interface Call {
  readonly owner: Owner;
  readonly askedAtMs: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly token: string;
  readonly isConditional: boolean;
  readonly signal: AbortSignal;
  endedAtMs: number | undefined;
}

export interface TokenCall {
  readonly owner: Owner;
  readonly askedAtMs: number;
  readonly signal: AbortSignal;
  endedAtMs: number | undefined;
}

export interface IssuedToken {
  readonly owner: Owner;
  readonly issuedAtMs: number;
  readonly lifetimeMs: number;
  isRevoked: boolean;
}

/** Is told everything as it happens. */
export interface ProviderWitness {
  onCall(call: Call): void;
  onTokenCall(call: TokenCall): void;
  onDelivery(delivery: Delivery, call: Call): void;
  /** The load of `owner` may fail with one of these kinds. */
  onExcuse(owner: Owner, kinds: readonly LoadErrorKind[]): void;
  onUnauthorized(call: Call): void;
  onRetryAfter(owner: Owner, ms: number, from: 'list' | 'token'): void;
}

export type Validation = 'none' | 'etag' | 'date' | 'both' | 'unsendable';

export const createProviderWorld = (
  world: World,
  witness: ProviderWitness,
  setup: {
    readonly validation: Validation;
    readonly usesTokens: boolean;
    readonly tokenLifeMs: number | undefined;
    readonly fields: Published;
  },
) => {
  const server: Owner = { name: 'provider', isAlive: true };
  const versions = createBankVersions(setup.fields);
  const tokens = new Map<string, IssuedToken>();
  let answerName: AnswerName = 'healthy';
  let grantName: GrantName = 'healthy';
  let slowMs = 0;
  let isDeaf = false;
  let retryAfter: string | undefined;
  let issued = 0;

  const validatorsOf = ({ etag, lastModified }: BankVersion): Record<string, string> => ({
    ...((setup.validation === 'etag' || setup.validation === 'both') && { etag }),
    ...((setup.validation === 'date' || setup.validation === 'both') && { 'last-modified': lastModified }),
    ...(setup.validation === 'unsendable' && { 'last-modified': `${lastModified} \u0007` }),
  });

  const known = ({ headers }: Call): BankVersion | undefined =>
    versions.find(headers['if-none-match'], headers['if-modified-since']);

  const listAnswer = (call: Call): Answer => {
    const row = ANSWERS[answerName];
    if (row.needsToken && setup.usesTokens && !isValid(call.token)) {
      witness.onUnauthorized(call);
      return { ...ANSWERS.unauthorized.answer(versions.current()), excuses: ['unauthorized'] };
    }
    const answer = row.answer(versions.current());
    if (answer.status === 401) witness.onUnauthorized(call);
    if (answer.isList && call.isConditional && known(call) === versions.current())
      return { ...answer, status: 304, body: '', headers: validatorsOf(versions.current()) };
    return answer.isList
      ? { ...answer, headers: { ...answer.headers, ...validatorsOf(versions.current()) } }
      : answer;
  };

  const isValid = (token: string): boolean => {
    const found = tokens.get(token);
    return found !== undefined && !found.isRevoked && world.nowMs() < found.issuedAtMs + found.lifetimeMs;
  };

  const grantAnswer = (owner: Owner): Grant => {
    const grant = GRANTS[grantName];
    if (!grant.isGranted) return grant;
    issued += 1;
    const token = `token-${issued}`;
    const lifetimeMs = grantName === 'no-expires-in' ? undefined : setup.tokenLifeMs;
    tokens.set(token, {
      owner,
      issuedAtMs: world.nowMs(),
      lifetimeMs: lifetimeMs ?? Infinity,
      isRevoked: grantName === 'rejected-token',
    });
    const expires = lifetimeMs === undefined ? {} : { expires_in: lifetimeMs / 1_000 };
    return { ...grant, body: JSON.stringify({ access_token: token, token_type: 'Bearer', ...expires }) };
  };

  /** Answers a request: `form` is called when it arrives; what it gives goes back in pieces. */
  const exchange = async <T>(
    owner: Owner,
    name: string,
    signal: AbortSignal,
    closing: Set<(error: Error) => void>,
    form: () => Answer,
    whenDelivered: (answer: Answer) => void,
    read: (response: Dispatcher.ResponseData) => Promise<T>,
  ): Promise<T> => {
    let body: Readable | undefined;
    let isOver = false;
    let fail = (_error: unknown): void => {};
    const cut = (error: unknown): void => {
      isOver = true;
      fail(error);
      body?.destroy(error instanceof Error ? error : new Error('cut'));
    };
    const onAbort = (): void => {
      witness.onExcuse(owner, ['timeout']);
      if (!isDeaf) cut(signal.reason);
    };
    const lag = (): number => Math.floor(world.luck(`lag ${name} ${owner.name}`) ** 4 * 120) + 1;
    const later = (delayMs: number, what: string, run: () => void): void =>
      void world.later(delayMs, owner, `${name} ${what}`, () => void (isOver || run()));
    const unreachable = (): LoadError => new LoadError('unreachable', `no connection to ${name}`);
    const send = (answer: Answer, resolve: (response: Dispatcher.ResponseData) => void): void => {
      body = new Readable({ read: () => undefined });
      const stream = Object.assign(body, { dump: () => ended(stream) });
      stream.on('error', () => undefined);
      const response = { statusCode: answer.status, headers: answer.headers, body: stream };
      resolve(response as unknown as Dispatcher.ResponseData);
      const bytes = Buffer.from(answer.body, answer.encoding ?? 'utf8');
      const end = (): void => {
        whenDelivered(answer);
        if (bytes.length > 0) stream.push(bytes.subarray(bytes.length >> 1));
        stream.push(null);
      };
      if (answer.course === 'whole' && (slowMs === 0 || bytes.length === 0)) {
        if (bytes.length > 0) stream.push(bytes.subarray(0, bytes.length >> 1));
        end();
        return;
      }
      later(1, 'sends half', () => stream.push(bytes.subarray(0, bytes.length >> 1)));
      if (answer.course === 'whole') later(1 + slowMs / 2, 'sends the rest', end);
      if (answer.course === 'cut') later(lag(), 'breaks off', () => stream.destroy(new Error('cut')));
      if (answer.course === 'drip')
        for (let piece = 1; piece < 20; piece += 1) later(piece * 500, 'drips', () => stream.push(' '));
    };
    closing.add(cut);
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
    try {
      const response = await new Promise<Dispatcher.ResponseData>((resolve, reject) => {
        fail = reject;
        if (isOver) reject(signal.reason);
        const hops = answerName === 'refuse' ? 0 : lag();
        later(hops, 'is asked', () => {
          const answer = form();
          witness.onExcuse(owner, answer.excuses);
          if (answer.course === 'refuse') reject(unreachable());
          else if (answer.course !== 'never')
            later(slowMs / 2 + lag(), 'answers', () =>
              answer.course === 'reset' ? reject(unreachable()) : send(answer, resolve),
            );
        });
      });
      return await read(response);
    } finally {
      isOver = true;
      closing.delete(cut);
      signal.removeEventListener('abort', onAbort);
    }
  };

  /** The interface of src/provider/connections.ts, for one replica. */
  const connect =
    (owner: Owner) =>
    ({ peer }: ConnectionsOptions): Connections => {
      const closing = new Set<(error: Error) => void>();
      return {
        request: (options, read) =>
          peer === 'the provider'
            ? askList(owner, options, read, closing)
            : askToken(owner, options, read, closing),
        destroy: async () => {
          for (const cut of closing) cut(new LoadError('unreachable', `no connection to ${peer}`));
        },
      };
    };

  type Ask = <T>(
    owner: Owner,
    options: Parameters<Connections['request']>[0],
    read: (response: Dispatcher.ResponseData) => Promise<T>,
    closing: Set<(error: Error) => void>,
  ) => Promise<T>;

  const askList: Ask = async (owner, { headers, signal }, read, closing) => {
    const sent = headers as Record<string, string>;
    // As undici does.
    for (const value of Object.values(sent))
      if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) throw new Error('invalid header');
    signal.throwIfAborted();
    const call: Call = {
      owner,
      askedAtMs: world.nowMs(),
      headers: sent,
      token: sent['authorization']?.replace('Bearer ', '') ?? '',
      isConditional: 'if-none-match' in sent || 'if-modified-since' in sent,
      signal,
      endedAtMs: undefined,
    };
    witness.onCall(call);
    let formedAtMs = 0;
    const asked = known(call);
    let version = versions.current();
    const form = (): Answer => {
      formedAtMs = world.nowMs();
      version = versions.current();
      const answer = listAnswer(call);
      if (answer.headers['retry-after'] === '') {
        if (retryAfter === undefined) return { ...answer, headers: {} };
        witness.onRetryAfter(owner, Number(retryAfter) * 1_000, 'list');
        return { ...answer, headers: { 'retry-after': retryAfter } };
      }
      return answer;
    };
    const whenDelivered = (answer: Answer): void => {
      const delivered = answer.status === 304 ? asked : version;
      if (!answer.isList || !delivered) return;
      const isWhole = answer.status === 200;
      witness.onDelivery(
        { version: delivered, askedAtMs: call.askedAtMs, formedAtMs, deliveredAtMs: world.nowMs(), isWhole },
        call,
      );
    };
    try {
      return await exchange(owner, 'provider', signal, closing, form, whenDelivered, read);
    } finally {
      call.endedAtMs = world.nowMs();
    }
  };

  const askToken: Ask = async (owner, { signal }, read, closing) => {
    signal.throwIfAborted();
    const call: TokenCall = { owner, askedAtMs: world.nowMs(), signal, endedAtMs: undefined };
    witness.onTokenCall(call);
    const form = (): Answer => {
      const { body, status, course, excuses, headers } = grantAnswer(owner);
      if (headers?.['retry-after'] !== undefined)
        witness.onRetryAfter(owner, Number(headers['retry-after']) * 1_000, 'token');
      const type = { 'content-type': 'application/json', ...headers };
      return { status, headers: type, body, course, excuses, isList: false };
    };
    try {
      return await exchange(owner, 'token endpoint', signal, closing, form, () => undefined, read);
    } finally {
      call.endedAtMs = world.nowMs();
    }
  };

  return {
    connect,
    versions,
    tokens,
    answer: (name: AnswerName, wait: string | undefined) => {
      answerName = name;
      retryAfter = wait;
    },
    grant: (name: GrantName) => void (grantName = name),
    slow: (ms: number) => void (slowMs = ms),
    deaf: (value: boolean) => void (isDeaf = value),
    revoke: () => {
      for (const token of tokens.values()) token.isRevoked = true;
    },
    isHealthy: () => answerName === 'healthy' && grantName === 'healthy' && slowMs === 0 && !isDeaf,
    owner: server,
  };
};

/** Resolves like undici's dump(), at the body's end whatever it is. */
const ended = (body: Readable): Promise<void> =>
  new Promise((resolve) => {
    body.once('close', resolve).once('end', resolve).resume();
  });

export type ProviderWorld = ReturnType<typeof createProviderWorld>;
