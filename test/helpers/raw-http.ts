import { once } from 'node:events';
import { connect } from 'node:net';

// HTTP as bytes: what a test writes is what is sent, and each response must be well-formed.

export interface RawAnswer {
  readonly status: number;
  /** Names in lower case; repeated headers are joined with a comma. */
  readonly headers: ReadonlyMap<string, string>;
  /** The status line and the header lines as they were sent. */
  readonly head: string;
  readonly body: string;
}

export interface RawOptions {
  readonly methods?: readonly string[];
  readonly keepOpen?: boolean;
}

/**
 * Sends `bytes` to `url` on a new connection and resolves with the responses. `methods` are the
 * requests' methods in order, needed if one is HEAD. Without `keepOpen` the sending side is closed
 * after the bytes. Rejects if the responses are not well-formed HTTP/1.1 or the connection does not
 * end.
 */
export const sendRaw = (
  url: string,
  bytes: string | Buffer,
  { methods = [], keepOpen = false }: RawOptions = {},
): Promise<RawAnswer[]> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const chunks: Buffer[] = [];
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    const giveUp = setTimeout(() => {
      socket.destroy();
      reject(
        new Error(`the connection hangs after ${JSON.stringify(String(bytes).slice(0, 200))}`),
      );
    }, 30_000);
    socket.on('data', (chunk) => chunks.push(chunk));
    // The server may reset the connection after the response: it need not read the remaining bytes.
    socket.on('error', () => undefined);
    socket.on('end', () => socket.end());
    socket.on('close', () => {
      clearTimeout(giveUp);
      try {
        resolve(parseAnswers(Buffer.concat(chunks).toString('latin1'), methods));
      } catch (error) {
        reject(error);
      }
    });
    if (keepOpen) socket.write(bytes);
    else socket.end(bytes);
  });

/**
 * Sends one request, of its line and its header fields, as {@link sendRaw} does. @returns the only
 * response
 */
export const askRaw = async (
  url: string,
  requestLine: string,
  ...fields: readonly string[]
): Promise<RawAnswer> => {
  const bytes = [requestLine, ...fields, '', ''].join('\r\n');
  const answers = await sendRaw(url, bytes, { methods: [requestLine.split(' ')[0] ?? ''] });
  const [answer] = answers;
  if (!answer || answers.length > 1)
    throw new Error(`${answers.length} responses to ${requestLine}`);
  return answer;
};

export type RawClient = Awaited<ReturnType<typeof openRaw>>;

/**
 * Opens a connection to write on step by step. It is read unless it is paused. To be destroyed by
 * the caller.
 */
export const openRaw = async (url: string, localAddress?: string) => {
  const socket = connect({
    port: Number(new URL(url).port),
    host: '127.0.0.1',
    localAddress,
    noDelay: true,
  });
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk)).on('error', () => undefined);
  await once(socket, 'connect');
  /** What has been received so far, in Latin-1. */
  const received = (): string => Buffer.concat(chunks).toString('latin1');
  return { socket, received };
};

const STATUS_LINE = /^HTTP\/1\.1 (\d{3}) [\w ,'-]+$/;
const HEADER_LINE =
  /^([\w!#$%&'*+.^`|~-]+): ([\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)$/;

const parseAnswers = (text: string, methods: readonly string[]): RawAnswer[] => {
  const answers: RawAnswer[] = [];
  let rest = text;
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n');
    if (end < 0) throw new Error(`a response without an end of its head: ${rest.slice(0, 200)}`);
    const head = rest.slice(0, end);
    const [statusLine = '', ...lines] = head.split('\r\n');
    const status = Number(STATUS_LINE.exec(statusLine)?.[1]);
    if (!status) throw new Error(`a malformed status line: ${statusLine}`);
    const headers = new Map<string, string>();
    for (const line of lines) {
      const [, name, value] = HEADER_LINE.exec(line) ?? [];
      if (name === undefined || value === undefined) throw new Error(`a malformed field: ${line}`);
      const known = headers.get(name.toLowerCase());
      headers.set(name.toLowerCase(), known === undefined ? value : `${known}, ${value}`);
    }
    const bodyless = methods[answers.length] === 'HEAD' || status === 304 || status === 204;
    const length = bodyless ? 0 : Number(headers.get('content-length'));
    const body = rest.slice(end + 4, end + 4 + length);
    if (body.length !== length)
      throw new Error(`${body.length} bytes of content instead of ${length}`);
    rest = rest.slice(end + 4 + length);
    answers.push({ status, headers, head, body });
  }
  return answers;
};
