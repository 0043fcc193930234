/**
 * A provider written from its own documents: a clearing house with an old access gateway.
 *
 * - Its client ids are UUIDs and its secrets hold punctuation. Its gateway takes the two halves
 *   of Basic as they are (RFC 7617): it does not percent-decode them.
 * - Its token endpoint takes a form and answers a plain grant, with expires_in as text.
 * - Its list is an array of records whose registry numbers are in an object of their own.
 * - Everything it refuses is a problem document (RFC 9457).
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { listenOn } from '../../helpers/free-port.ts';

export const CLIENT_ID = '5f6c1f0e-6d1b-4b0a-9a35-0f4f1b8f2c11';
export const CLIENT_SECRET = 'kP9~x.R_2-v%41+Zq';

const PARTICIPANTS = [
  { ids: { ispb: '00000000', compe: '001' }, name: 'BCO DO BRASIL S.A.', active: true },
  { ids: { ispb: '00000208', compe: '070' }, name: 'BRB - BCO DE BRASILIA S.A.', active: true },
  { ids: { ispb: '00038121', compe: null }, name: 'Selic', active: false },
  { ids: { ispb: '60701190', compe: '341' }, name: 'ITAÚ UNIBANCO S.A.', active: true },
];

function problem(response: ServerResponse, status: number, title: string): void {
  response.writeHead(status, { 'content-type': 'application/problem+json' });
  response.end(JSON.stringify({ type: 'about:blank', title, status }));
}

/** Starts the provider and its token endpoint on one address. */
export async function startClearingHouse() {
  const tokens = new Set<string>();
  const server = createServer((request, response) => {
    void answer(request, response);
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    if (request.url === '/sso/token' && request.method === 'POST') {
      const expected = Buffer.from(`${CLIENT_ID}:${CLIENT_SECRET}`).toString('base64');
      if (request.headers.authorization !== `Basic ${expected}`) {
        response.setHeader('www-authenticate', 'Basic realm="sso"');
        problem(response, 401, 'Bad credentials');
        return;
      }
      if (new URLSearchParams(body).get('grant_type') !== 'client_credentials') {
        problem(response, 400, 'grant_type must be client_credentials');
        return;
      }
      const token = randomUUID();
      tokens.add(token);
      response.writeHead(200, { 'content-type': 'application/json;charset=UTF-8' });
      const grant = { access_token: token, token_type: 'bearer', expires_in: '300' };
      response.end(JSON.stringify(grant));
      return;
    }
    if (request.url === '/cadastro/api/v1/banks' && request.method === 'GET') {
      const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1];
      if (token === undefined || !tokens.has(token)) {
        problem(response, 401, 'Token missing or unknown');
        return;
      }
      response.writeHead(200, { 'content-type': 'application/json;charset=UTF-8' });
      response.end(JSON.stringify(PARTICIPANTS));
      return;
    }
    problem(response, 404, 'Not found');
  }

  const address = `http://127.0.0.1:${await listenOn(server)}`;
  return {
    baseUrl: `${address}/cadastro`,
    tokenUrl: `${address}/sso/token`,
    revokeAll: () => tokens.clear(),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
