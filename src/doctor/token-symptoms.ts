import type { Symptoms } from './symptoms.ts';

// The cause and the advice for each symptom of the token endpoint.

/** What stands in the texts. */
export interface TokenWords {
  /** What was tried at the token endpoint, as the end of a clause; may be empty. */
  readonly tried: string;
  /** The lines of the configuration with which it worked. */
  readonly lines: string;
}

export const TOKEN_SYMPTOMS = [
  {
    symptoms: ['wrong authentication'],
    likely: ({ tried }) => `the token endpoint wants the id and the secret in another way${tried}`,
    next: ({ lines }) => `set ${lines}`,
  },
  {
    symptoms: ['wrong format'],
    likely: ({ tried }) => `the token endpoint wants another format${tried}`,
    next: ({ lines }) => `set ${lines}`,
  },
  {
    symptoms: ['client rejected'],
    likely: ({ tried }) =>
      `the id or the secret is wrong, or belongs to the other environment${tried}`,
    next: 'check PROVIDER_CLIENT_ID and PROVIDER_CLIENT_SECRET with the people who issued them, and ask how the client must authenticate (PROVIDER_TOKEN_AUTH)',
  },
  {
    // Some endpoints send it for a wrong secret.
    symptoms: ['invalid_grant'],
    likely:
      'the token endpoint rejects the id or the secret, or does not allow this client the client-credentials grant',
    next: 'check PROVIDER_CLIENT_ID and PROVIDER_CLIENT_SECRET with the people who issued them; then ask the provider whether this client may use that grant',
  },
  {
    symptoms: ['unauthorized_client'],
    likely: 'the token endpoint knows the client, which may not use the client-credentials grant',
    next: 'ask the provider to allow it for this client, or for another client in PROVIDER_CLIENT_ID',
  },
  {
    symptoms: ['unsupported_grant_type'],
    likely:
      'the token endpoint does not offer the client-credentials grant (RFC 6749 section 4.4) at this address',
    next: 'ask the provider for the address that does, and set PROVIDER_TOKEN_URL to it',
  },
  {
    symptoms: ['invalid_scope'],
    likely: 'the token endpoint requires a scope, or does not know this one',
    next: 'ask the provider for the scope, and set PROVIDER_TOKEN_SCOPE to it',
  },
  {
    symptoms: ['invalid_request'],
    likely: ({ tried }) =>
      `something is missing in the request to the token endpoint: a scope, or a parameter of its own${tried}`,
    next: 'ask the provider what the request must have, and set PROVIDER_TOKEN_SCOPE and PROVIDER_TOKEN_FORMAT accordingly',
  },
  {
    symptoms: ['token 415'],
    likely: ({ tried }) => `the token endpoint wants a format other than form and JSON${tried}`,
    next: 'ask the provider which format, and check PROVIDER_TOKEN_URL',
  },
  {
    symptoms: ['token 403'],
    likely:
      'the token endpoint, or a firewall in front of it, does not let this machine or this client in',
    next: 'ask the provider whether addresses must be registered, and whether PROVIDER_CLIENT_ID is active',
  },
  {
    symptoms: ['unusable grant'],
    likely:
      'the token endpoint grants something other than a Bearer token of RFC 6749 section 5.1: see above what is missing',
    next: 'ask the provider for an endpoint that answers with access_token, and set PROVIDER_TOKEN_URL to it; or keep a token in PROVIDER_ACCESS_TOKEN_FILE',
  },
  {
    symptoms: ['unexpected status'],
    likely: 'the token endpoint does not handle this request',
    next: 'check PROVIDER_TOKEN_URL; then ask the provider what the request lacks',
  },
  {
    symptoms: ['not a token endpoint'],
    likely: 'PROVIDER_TOKEN_URL is not the address of an OAuth 2.0 token endpoint',
    next: 'set PROVIDER_TOKEN_URL to the address that answers POST with a token (RFC 6749 section 4.4); redirects are not followed',
  },
] as const satisfies Symptoms<TokenWords>;
