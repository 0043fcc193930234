/**
 * A provider written from its own documents: a young company's API on a web framework whose
 * every POST answers 201.
 *
 * - Its token endpoint takes JSON and refuses any other media type with 415. Its Basic halves
 *   are percent-decoded (RFC 6749, section 2.3.1).
 * - Its grant has no token_type, and its lifetime is a time of day (expiresAt), not seconds.
 * - Its list follows JSON:API: an envelope with `data`, each bank with `attributes`, and a page
 *   of a fixed size that names the next one in the body and in the Link header.
 * - It sends 403, not 401, for a token that it does not know.
 */
import { createServer, type Server } from 'node:http';
import { randomBytes } from 'node:crypto';

export const HUB_CLIENT = { id: 'acme:sandbox 1', secret: 'päss+word/=%' };
const PAGE_SIZE = 3;

const BANKS = ['Banco Um', 'Banco Dois', 'Banco Três', 'Banco Quatro', 'Banco Cinco'].map(
  (name, position) => ({
    type: 'bank',
    id: String(position + 1),
    attributes: {
      'display-name': name,
      codes: { clearing: String(100 + position), registry: String(10_000_000 + position) },
      logos: [{ size: 'small', url: `https://logos.example/${position}.png` }],
      products: ['pix', 'ted'],
    },
  }),
);

function isAskedFor(asked: unknown): boolean {
  return (
    typeof asked === 'object' &&
    asked !== null &&
    'grant_type' in asked &&
    asked.grant_type === 'client_credentials'
  );
}

function decodeForm(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '));
}

function credentialsOf(header: string | undefined): { id: string; secret: string } | undefined {
  if (header === undefined || !header.toLowerCase().startsWith('basic ')) return undefined;
  const pair = Buffer.from(header.slice(6), 'base64').toString('latin1');
  const colon = pair.indexOf(':');
  if (colon < 0) return undefined;
  try {
    return { id: decodeForm(pair.slice(0, colon)), secret: decodeForm(pair.slice(colon + 1)) };
  } catch {
    return undefined;
  }
}

export class FintechHub {
  private readonly server: Server;
  private token: string | undefined;

  constructor() {
    this.server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const send = (status: number, body: object, headers: Record<string, string> = {}) => {
          response.writeHead(status, { 'content-type': 'application/vnd.api+json', ...headers });
          response.end(JSON.stringify(body));
        };
        const refuse = (status: number, code: string, detail: string) =>
          send(status, { errors: [{ status: String(status), code, detail }] });

        const url = new URL(request.url ?? '/', 'http://hub.example');
        if (request.method === 'POST' && url.pathname === '/v1/authentication') {
          if (!(request.headers['content-type'] ?? '').startsWith('application/json')) {
            return refuse(415, 'UNSUPPORTED_MEDIA_TYPE', 'Send application/json');
          }
          const client = credentialsOf(request.headers.authorization);
          if (client?.id !== HUB_CLIENT.id || client.secret !== HUB_CLIENT.secret) {
            return refuse(401, 'INVALID_CLIENT', 'Unknown client or wrong secret');
          }
          let asked: unknown;
          try {
            asked = JSON.parse(Buffer.concat(chunks).toString('utf8'));
          } catch {
            return refuse(400, 'INVALID_JSON', 'The body is not JSON');
          }
          if (!isAskedFor(asked)) {
            return refuse(422, 'INVALID_GRANT_TYPE', 'grant_type must be client_credentials');
          }
          this.token = randomBytes(24).toString('base64url');
          const expiresAt = new Date(Date.now() + 900_000).toISOString();
          return send(201, { access_token: this.token, expiresAt });
        }
        if (request.method === 'GET' && url.pathname === '/api/v1/banks') {
          const sent = request.headers.authorization;
          if (this.token === undefined || sent !== `Bearer ${this.token}`) {
            return refuse(403, 'FORBIDDEN', 'The token is not valid');
          }
          const page = Number(url.searchParams.get('page') ?? '1');
          const from = (page - 1) * PAGE_SIZE;
          const last = from + PAGE_SIZE >= BANKS.length;
          const next = last ? null : `/api/v1/banks?page=${page + 1}`;
          const body = {
            jsonapi: { version: '1.1' },
            data: BANKS.slice(from, from + PAGE_SIZE),
            links: { self: request.url, next },
            meta: { total: BANKS.length },
          };
          return send(200, body, next === null ? {} : { link: `<${next}>; rel="next"` });
        }
        return refuse(404, 'NOT_FOUND', `No route for ${request.method} ${url.pathname}`);
      });
    });
  }

  /** Listens on a free port and resolves to the base address. */
  start(): Promise<string> {
    return new Promise((resolve) => {
      this.server.listen(0, '127.0.0.1', () => {
        const address = this.server.address();
        if (address === null || typeof address === 'string') throw new Error('no port');
        resolve(`http://127.0.0.1:${address.port}`);
      });
    });
  }

  stop(): Promise<void> {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }
}
