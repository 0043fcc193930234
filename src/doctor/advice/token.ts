import type { LoadError } from '../../banks/load-error.ts';
import type { Config } from '../../config/config.ts';
import type { Advice, Evidence } from './evidence.ts';
import { adviseOnConnection, adviseOnTimeout, PROXY_REFUSED, PROXY_UNREACHABLE } from './connection.ts';

// Why there is no token, or why the provider rejects it.

type TokenKind = Config['provider']['token']['kind'];

export const NEXT_FOR_REJECTED_TOKEN: Readonly<Record<TokenKind, string>> = {
  fixed: 'get a new token and set PROVIDER_ACCESS_TOKEN to it, without "Bearer" and without quotes',
  file: 'write a new token, and nothing else, into the file of PROVIDER_ACCESS_TOKEN_FILE',
  'client-credentials':
    'the endpoint grants tokens that the list rejects: check that PROVIDER_TOKEN_URL and PROVIDER_CLIENT_ID belong to ' +
    'the environment, and whether PROVIDER_TOKEN_SCOPE must name a scope',
};

export const adviseOnToken = (error: LoadError, { config, observation }: Evidence): Advice => {
  const { token } = config.provider;
  if (token.kind !== 'client-credentials') return UNUSABLE_FILE;
  const contact = observation.tokenEndpoint;
  const endpoint = { url: token.url, variable: 'PROVIDER_TOKEN_URL' };
  if (error.kind === 'unreachable') return { ...adviseOnConnection(contact, endpoint), step: 'token' };
  if (error.kind === 'proxy_unreachable') return { ...PROXY_UNREACHABLE, step: 'token' };
  if (error.kind === 'proxy_refused') return { ...PROXY_REFUSED, step: 'token' };
  if (error.kind === 'timeout') return { ...adviseOnTimeout(contact), step: 'token' };
  const status = contact.head?.status;
  if (status === 400 || status === 401) return REJECTED_CLIENT;
  return error.kind === 'rate_limited' || error.kind === 'unavailable' ? UNAVAILABLE : NOT_A_TOKEN_ENDPOINT;
};

const UNUSABLE_FILE: Advice = {
  step: 'token',
  likely: 'the file is empty, or has a second line or a space',
  next: 'write the token, and nothing else, into the file of PROVIDER_ACCESS_TOKEN_FILE',
};

const REJECTED_CLIENT: Advice = {
  step: 'token',
  likely: 'the id, the secret or the scope is wrong, or belongs to the other environment',
  next: 'check PROVIDER_CLIENT_ID, PROVIDER_CLIENT_SECRET and PROVIDER_TOKEN_SCOPE with the people who issued them',
};

const UNAVAILABLE: Advice = {
  step: 'token',
  likely: 'the token endpoint has an internal failure, or got too many requests',
  next: 'try again later, or ask the provider',
};

const NOT_A_TOKEN_ENDPOINT: Advice = {
  step: 'token',
  likely: 'PROVIDER_TOKEN_URL is not the address of an OAuth 2.0 token endpoint',
  next: 'check PROVIDER_TOKEN_URL: it needs the grant of RFC 6749 section 4.4, answered with JSON and token_type Bearer',
};
