/**
 * A provider written from its own documents: a bank's mainframe behind a commercial API gateway,
 * with its authentication on a host of its own.
 *
 * - "Basic" is the name of the credentials scheme in the gateway's console, but the gateway reads
 *   client_id and client_secret from the form, and refuses a request that has an Authorization
 *   header (RFC 6749, section 2.3: one method per request).
 * - It requires a scope. Its grant has no lifetime and a token type in capitals.
 * - Its list is two objects deep, and a field name has a dot in it. Its numbers are numbers, and
 *   an absent value is an absent field.
 * - It compresses every answer.
 */
import * as http from 'node:http';
import * as zlib from 'node:zlib';
import { listenOn } from '../../helpers/free-port.ts';

const MAINFRAME_ROWS = [
  { 'cod.banco': 1, nome: { curto: 'BB', completo: 'Banco do Brasil S.A.' }, sit: 'A' },
  { 'cod.banco': 33, nome: { curto: 'SANTANDER', completo: 'Banco Santander S.A.' }, sit: 'A' },
  { 'cod.banco': 104, nome: { curto: 'CAIXA' }, sit: 'I' },
];

export interface LegacyGateway {
  readonly authUrl: string;
  readonly apiUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scope: string;
  close(): Promise<void>;
}

async function listen(handler: http.RequestListener): Promise<[http.Server, string]> {
  const server = http.createServer(handler);
  return [server, `http://127.0.0.1:${await listenOn(server)}`];
}

function sendCompressed(response: http.ServerResponse, status: number, value: unknown): void {
  const body = zlib.gzipSync(JSON.stringify(value));
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Encoding': 'gzip',
    'Content-Length': body.length,
  });
  response.end(body);
}

export async function openLegacyGateway(): Promise<LegacyGateway> {
  const clientId = 'APP$BANKS';
  const clientSecret = 'S3cr&t==';
  const scope = 'banks:read';
  const issued = new Set<string>();

  const [auth, authUrl] = await listen((request, response) => {
    let text = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => (text += chunk));
    request.on('end', () => {
      const fault = (status: number, error: string, error_description: string) =>
        sendCompressed(response, status, { error, error_description });
      const form = new URLSearchParams(text);
      if (request.method !== 'POST') return fault(405, 'invalid_request', 'POST only');
      if (request.headers.authorization !== undefined) {
        return fault(401, 'invalid_client', 'Authorization header is not accepted here');
      }
      if (form.get('client_id') !== clientId || form.get('client_secret') !== clientSecret) {
        return fault(401, 'invalid_client', 'client_id or client_secret');
      }
      if (form.get('grant_type') !== 'client_credentials') {
        return fault(400, 'unsupported_grant_type', 'client_credentials only');
      }
      if (form.get('scope') !== scope) return fault(400, 'invalid_scope', 'scope is required');
      const token = `GW${issued.size + 1}.${Math.random().toString(36).slice(2)}`;
      issued.add(token);
      sendCompressed(response, 200, { token_type: 'BEARER', access_token: token, scope });
    });
  });

  const [api, apiUrl] = await listen((request, response) => {
    if (request.url !== '/api/v1/banks') {
      return sendCompressed(response, 404, { fault: { faultstring: 'No proxy for this path' } });
    }
    const token = (request.headers.authorization ?? '').replace('Bearer ', '');
    if (!issued.has(token)) {
      return sendCompressed(response, 401, { fault: { faultstring: 'Invalid access token' } });
    }
    sendCompressed(response, 200, {
      response: {
        header: { rc: 0 },
        body: { banks: MAINFRAME_ROWS, count: MAINFRAME_ROWS.length },
      },
    });
  });

  const shut = (server: http.Server) =>
    new Promise<void>((resolve) => {
      server.closeAllConnections();
      server.close(() => {
        resolve();
      });
    });
  return {
    authUrl: `${authUrl}/oauth2/token`,
    apiUrl,
    clientId,
    clientSecret,
    scope,
    close: async () => {
      await Promise.all([shut(auth), shut(api)]);
    },
  };
}
