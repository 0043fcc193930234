import express, { type Express, type Request, type Response } from 'express';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { EnvironmentVariables } from '../../../src/config/variables.ts';
import { serve } from '../../helpers/serve.ts';

// Three providers as strangers wrote them who had read one paragraph about the provider, and
// nothing of the service or of the emulator. Each start gives the settings that its documents name.
// Each grants one token, which nobody can guess.

const listen = async (app: Express): Promise<string> =>
  `http://127.0.0.1:${await serve(createServer(app))}`;

const settings = (
  baseUrl: string,
  tokenUrl: string,
  client: { readonly id: string; readonly secret: string },
): EnvironmentVariables => ({
  PROVIDER_SANDBOX_BASE_URL: baseUrl,
  PROVIDER_TOKEN_URL: tokenUrl,
  PROVIDER_CLIENT_ID: client.id,
  PROVIDER_CLIENT_SECRET: client.secret,
});

const isGrantRequest = ({ body }: Request): boolean => body?.grant_type === 'client_credentials';

/**
 * A clearing house with an old access gateway.
 *
 * - Its client ids are UUIDs and its secrets hold punctuation. Its gateway takes the two halves of
 *   Basic as they are (RFC 7617): it does not percent-decode them.
 * - Its token endpoint takes a form and answers a plain grant, with expires_in as text.
 * - Its list is an array of records whose registry numbers are in an object of their own.
 * - Everything it refuses is a problem document (RFC 9457).
 */
export const startClearingHouse = async (): Promise<EnvironmentVariables> => {
  const client = { id: '5f6c1f0e-6d1b-4b0a-9a35-0f4f1b8f2c11', secret: 'kP9~x.R_2-v%41+Zq' };
  const basic = `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}`;
  const token = randomUUID();
  const refuse = (res: Response, status: number, title: string) =>
    res
      .status(status)
      .type('application/problem+json')
      .send({ type: 'about:blank', title, status });
  const app = express();
  app.post('/sso/token', express.urlencoded(), (req, res) => {
    if (req.headers.authorization !== basic) refuse(res, 401, 'Bad credentials');
    else if (!isGrantRequest(req)) refuse(res, 400, 'grant_type must be client_credentials');
    else res.send({ access_token: token, token_type: 'bearer', expires_in: '300' });
  });
  app.get('/cadastro/api/v1/banks', (req, res) => {
    if (req.headers.authorization !== `Bearer ${token}`) refuse(res, 401, 'Token unknown');
    else
      res.send([
        { ids: { ispb: '00000000', compe: '001' }, name: 'BCO DO BRASIL S.A.', active: true },
        { ids: { ispb: '00038121', compe: null }, name: 'Selic', active: false },
      ]);
  });
  const url = await listen(app);
  return settings(`${url}/cadastro`, `${url}/sso/token`, client);
};

/**
 * A young company's API on a web framework whose every POST answers 201.
 *
 * - Its token endpoint takes JSON and refuses any other media type with 415. Its Basic halves are
 *   percent-decoded (RFC 6749, section 2.3.1).
 * - Its grant has no token_type, and its lifetime is a time of day (expiresAt), not seconds.
 * - Its list follows JSON:API: an envelope with `data`, each bank with `attributes`, and a page of a
 *   fixed size that names the next one in the body and in the Link header.
 * - It sends 403, not 401, for a token that it does not know.
 */
export const startFintechHub = async (): Promise<EnvironmentVariables> => {
  const client = { id: 'acme:sandbox 1', secret: 'päss+word/=%' };
  const token = randomUUID();
  const decode = (text = ''): string => decodeURIComponent(text.replaceAll('+', ' '));
  const isClient = ({ headers }: Request): boolean => {
    const pair = Buffer.from(headers.authorization?.slice('Basic '.length) ?? '', 'base64');
    const [id, secret] = pair.toString('latin1').split(':');
    return decode(id) === client.id && decode(secret) === client.secret;
  };
  const send = (res: Response, status: number, body: object) =>
    res.status(status).type('application/vnd.api+json').send(body);
  const refuse = (res: Response, status: number, detail: string) =>
    send(res, status, { errors: [{ status: String(status), detail }] });
  const app = express();
  app.post('/v1/authentication', express.json(), (req, res) => {
    if (!req.is('application/json')) refuse(res, 415, 'Send application/json');
    else if (!isClient(req)) refuse(res, 401, 'Unknown client or wrong secret');
    else if (!isGrantRequest(req)) refuse(res, 422, 'grant_type must be client_credentials');
    else send(res, 201, { access_token: token, expiresAt: '2031-01-01T00:00:00Z' });
  });
  app.get('/api/v1/banks', (req, res) => {
    const data = ['Banco Um', 'Banco Dois', 'Banco Três'].map((name, index) => ({
      type: 'bank',
      id: String(index + 1),
      attributes: {
        'display-name': name,
        codes: { clearing: String(100 + index), registry: String(10_000_000 + index) },
        logos: [{ size: 'small', url: `https://logos.example/${index}.png` }],
        products: ['pix', 'ted'],
      },
    }));
    const links = { self: req.url, next: '/api/v1/banks?page=2' };
    if (req.headers.authorization !== `Bearer ${token}`) refuse(res, 403, 'Token not valid');
    else send(res.links({ next: links.next }), 200, { data, links, meta: { total: 5 } });
  });
  const url = await listen(app);
  return settings(url, `${url}/v1/authentication`, client);
};

/** The scope that its documents do not mention with the other settings. */
export const LEGACY_SCOPE = 'banks:read';

/**
 * A bank's mainframe behind a commercial API gateway, with its authentication on a host of its own.
 *
 * - "Basic" is the name of the credentials scheme in the gateway's console, but the gateway reads
 *   client_id and client_secret from the form, and refuses a request that has an Authorization
 *   header (RFC 6749, section 2.3: one method per request).
 * - It requires a scope. Its grant has no lifetime and a token type in capitals.
 * - Its list is two objects deep, and a field name has a dot in it. Its numbers are numbers, and an
 *   absent value is an absent field.
 * - It compresses every answer.
 */
export const startLegacyGateway = async (): Promise<EnvironmentVariables> => {
  const client = { id: 'APP$BANKS', secret: 'S3cr&t==' };
  const token = `GW1.${randomUUID()}`;
  const send = (res: Response, status: number, body: object) =>
    res
      .status(status)
      .set({ 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' })
      .send(gzipSync(JSON.stringify(body)));
  const auth = express();
  auth.post('/oauth2/token', express.urlencoded(), (req, res) => {
    const { client_id, client_secret, scope } = req.body ?? {};
    const isClient = client_id === client.id && client_secret === client.secret;
    if (req.headers.authorization !== undefined || !isClient)
      send(res, 401, { error: 'invalid_client' });
    else if (!isGrantRequest(req)) send(res, 400, { error: 'unsupported_grant_type' });
    else if (scope !== LEGACY_SCOPE) send(res, 400, { error: 'invalid_scope' });
    else send(res, 200, { token_type: 'BEARER', access_token: token, scope });
  });
  const api = express();
  api.get('/api/v1/banks', (req, res) => {
    const banks = [
      { 'cod.banco': 1, nome: { curto: 'BB', completo: 'Banco do Brasil S.A.' }, sit: 'A' },
      { 'cod.banco': 104, nome: { curto: 'CAIXA' }, sit: 'I' },
    ];
    if (req.headers.authorization === `Bearer ${token}`)
      send(res, 200, { response: { header: { rc: 0 }, body: { banks, count: banks.length } } });
    else send(res, 401, { fault: { faultstring: 'Invalid access token' } });
  });
  return settings(await listen(api), `${await listen(auth)}/oauth2/token`, client);
};
