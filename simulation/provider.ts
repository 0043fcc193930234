import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { LoadError } from '../src/banks/load-error.ts';
import type { Connections, ConnectionsOptions } from '../src/provider/connections.ts';
import { ANSWERS, GRANTS, type Answer, type AnswerName, type GrantName } from './answers.ts';
import { createBankVersions, type BankVersion, type Published } from './bank-versions.ts';
import type { Life } from './replica.ts';
import type { World } from './world.ts';

// The provider and its token endpoint, at the interface of src/provider/connections.ts. They keep account of what they were
// asked and what they have sent: that is the truth that replicas are judged by.

/** A list has reached a replica. */
export interface Delivery {
  readonly version: BankVersion;
  readonly askedAtMs: number;
  readonly deliveredAtMs: number;
}

/** One request of a replica, for the list or for a token. */
export interface Call {
  readonly owner: Life;
  readonly askedAtMs: number;
  /** With which it is made. */
  readonly token: string;
  readonly signal: AbortSignal;
  endedAtMs: number | undefined;
}

interface IssuedToken {
  readonly owner: Life;
  /** Its owner counts its lifetime from here, and the endpoint from when it is issued. */
  readonly askedAtMs: number;
  readonly issuedAtMs: number;
  readonly lifetimeMs: number;
  isRevoked: boolean;
  /** The endpoint has given it again, for what was left of its life. */
  wasRepeated: boolean;
}

/** What becomes of the list from one answer to the next. */
type Trend = 'steady' | 'one fewer at each load' | 'another name at each load' | 'one bad answer';

export const LIST_CHANGES = {
  'one bank renamed': ({ versions }) => versions.rename(),
  'the usual list': ({ versions }) => versions.restore(),
  'half of it gone': ({ versions }) => versions.change({ size: 2 }),
  'one gone': ({ versions }) => versions.change({ size: 4 }),
  'the list before': ({ versions }) => versions.goBack(),
  'code as a number': ({ versions }) => versions.change({ drift: 'code as a number' }),
  'name renamed': ({ versions }) => versions.change({ drift: 'name renamed' }),
  'one fewer at each load': ({ go }) => go('one fewer at each load'),
  'one bad answer': ({ go }) => go('one bad answer'),
  'another name at each load': ({ go }) => go('another name at each load'),
} satisfies Record<string, (provider: ProviderWorld) => void>;
export type ListChange = keyof typeof LIST_CHANGES;

export const createProviderWorld = (
  world: World,
  setup: {
    readonly usesTokens: boolean;
    readonly tokenLifeMs: number | undefined;
    readonly fields: Published;
  },
) => {
  const { news } = world;
  const versions = createBankVersions(setup.fields);
  const tokens = new Map<string, IssuedToken>();
  let answerName: AnswerName = 'healthy';
  let trend: Trend = 'steady';
  let grantName: GrantName = 'healthy';
  let slowMs = 0;
  let isDeaf = false;
  let retryAfter: string | undefined;
  let issued = 0;
  /** It has answered rightly since; Infinity while it does not. */
  let healthySinceMs = 0;
  const noticeHealth = (): void => {
    const isHealthy = answerName === 'healthy' && grantName === 'healthy' && slowMs === 0 && !isDeaf;
    healthySinceMs = isHealthy ? world.nowMs() : Infinity;
  };

  const listAnswer = (call: Call): Answer => {
    const row = ANSWERS[answerName];
    if (row.needsToken && setup.usesTokens && !isValid(call.token)) {
      news.emit('unauthorized', call.owner);
      return { ...ANSWERS.unauthorized.answer(versions.current()), excuses: ['unauthorized'] };
    }
    const answer = row.answer(versions.current());
    if (answer.status === 401) news.emit('unauthorized', call.owner);
    return answer;
  };

  const isValid = (token: string): boolean => {
    const found = tokens.get(token);
    return found !== undefined && !found.isRevoked && world.nowMs() < found.issuedAtMs + found.lifetimeMs;
  };

  const grantAnswer = ({ owner, askedAtMs }: Call): Answer => {
    const grant = GRANTS[grantName];
    if (!grant.isGood) return grant;
    const before = [...tokens].findLast(([, found]) => found.owner === owner);
    if (grantName === 'same-token' && before && leftMs(before[1]) > 1_000) {
      before[1].wasRepeated = true;
      return { ...grant, body: toGrant(...before) };
    }
    issued += 1;
    const token = `token-${issued}`;
    const lifetimeMs = grantName === 'no-expires-in' ? undefined : setup.tokenLifeMs;
    const granted: IssuedToken = {
      owner,
      askedAtMs,
      issuedAtMs: world.nowMs(),
      lifetimeMs: lifetimeMs ?? Infinity,
      isRevoked: grantName === 'rejected-token',
      wasRepeated: false,
    };
    tokens.set(token, granted);
    return { ...grant, body: toGrant(token, granted) };
  };

  const leftMs = ({ issuedAtMs, lifetimeMs }: IssuedToken): number => issuedAtMs + lifetimeMs - world.nowMs();

  const toGrant = (token: string, granted: IssuedToken): string => {
    const expires = granted.lifetimeMs === Infinity ? {} : { expires_in: leftMs(granted) / 1_000 };
    return JSON.stringify({ access_token: token, token_type: 'Bearer', ...expires });
  };

  const revoke = (): void => {
    for (const token of tokens.values()) token.isRevoked = true;
  };

  /** Answers a request: `form` is called when it arrives; what it gives goes back in pieces. */
  const exchange = async <T>(
    call: Call,
    name: 'provider' | 'token endpoint',
    form: () => Answer,
    whenDelivered: (answer: Answer) => void,
    read: (response: Dispatcher.ResponseData) => Promise<T>,
  ): Promise<T> => {
    const { owner, signal } = call;
    const from = name === 'provider' ? 'call' : 'token';
    let body: Readable | undefined;
    let isOver = false;
    let fail = (_error: unknown): void => {};
    const cut = (error: unknown): void => {
      isOver = true;
      fail(error);
      body?.destroy(error instanceof Error ? error : new Error('cut'));
    };
    const onAbort = (): void => {
      news.emit('excuse', owner, ['timeout'], from);
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
      const bytes = Buffer.from(answer.body);
      const end = (): void => {
        // A call that was given up, but does not heed it, gets nothing any more.
        if (!signal.aborted) whenDelivered(answer);
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
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
    try {
      const response = await new Promise<Dispatcher.ResponseData>((resolve, reject) => {
        fail = reject;
        if (isOver) reject(signal.reason);
        const hops = answerName === 'refuse' ? 0 : lag();
        later(hops, 'is asked', () => {
          const answer = form();
          news.emit('excuse', owner, answer.excuses, from);
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
      call.endedAtMs = world.nowMs();
      signal.removeEventListener('abort', onAbort);
    }
  };

  /** The interface of src/provider/connections.ts, for one replica. */
  const connect =
    (owner: Life) =>
    ({ peer }: ConnectionsOptions): Connections => ({
      request: async ({ headers, signal }, read) => {
        const sent = headers as Record<string, string>;
        // As undici does.
        for (const value of Object.values(sent))
          if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) throw new Error('invalid header');
        signal.throwIfAborted();
        const token = sent['authorization']?.replace('Bearer ', '') ?? '';
        const call: Call = { owner, askedAtMs: world.nowMs(), token, signal, endedAtMs: undefined };
        return peer === 'the provider' ? askList(call, read) : askToken(call, read);
      },
    });

  const askList = <T>(call: Call, read: (response: Dispatcher.ResponseData) => Promise<T>): Promise<T> => {
    const { owner, askedAtMs } = call;
    news.emit('call', owner, call);
    let version = versions.current();
    const form = (): Answer => {
      const isBad = trend === 'one bad answer';
      const { size } = versions.current().shape;
      if (isBad) versions.change({ size: Math.min(45, 3 * size) });
      if (trend === 'another name at each load') versions.rename();
      if (trend === 'one fewer at each load') versions.change({ size: Math.max(1, size - 1) });
      version = versions.current();
      const answer = listAnswer(call);
      if (isBad) versions.goBack();
      if (isBad) trend = 'steady';
      if (answer.headers['retry-after'] !== '') return answer;
      if (retryAfter === undefined) return { ...answer, headers: {} };
      news.emit('Retry-After', owner, Number(retryAfter) * 1_000, 'call');
      return { ...answer, headers: { 'retry-after': retryAfter } };
    };
    const whenDelivered = ({ isGood }: Answer): void => {
      if (isGood) news.emit('delivery', owner, { version, askedAtMs, deliveredAtMs: world.nowMs() });
    };
    return exchange(call, 'provider', form, whenDelivered, read);
  };

  const askToken = <T>(call: Call, read: (response: Dispatcher.ResponseData) => Promise<T>): Promise<T> => {
    news.emit('token call', call.owner, call);
    const whenDelivered = ({ headers: { 'retry-after': wait } }: Answer): void => {
      if (wait !== undefined) news.emit('Retry-After', call.owner, Number(wait) * 1_000, 'token');
    };
    return exchange(call, 'token endpoint', () => grantAnswer(call), whenDelivered, read);
  };

  return {
    connect,
    versions,
    tokens,
    answer: (name: AnswerName, wait: string | undefined) => {
      answerName = name;
      retryAfter = wait;
      noticeHealth();
    },
    grant: (name: GrantName) => {
      grantName = name;
      noticeHealth();
      if (name === 'same-token') revoke();
    },
    go: (next: Trend) => void (trend = next),
    slow: (ms: number, isDeafToo: boolean) => {
      slowMs = ms;
      isDeaf = isDeafToo;
      noticeHealth();
    },
    revoke,
    healthySinceMs: () => healthySinceMs,
  };
};

/** Resolves like undici's dump(), at the body's end whatever it is. */
const ended = (body: Readable): Promise<void> =>
  new Promise((resolve) => {
    body.once('close', resolve).once('end', resolve).resume();
  });

export type ProviderWorld = ReturnType<typeof createProviderWorld>;
