import type { ClientCredentials } from '../config/provider.ts';
import { escapeForForms } from '../form-escapes.ts';

// The request for a token by the client-credentials grant (RFC 6749 section 4.4.2), with the
// client's authentication (section 2.3.1). Pure.

/** Its headers, without those that every request has, and its body. */
export const writeTokenRequest = (
  { clientId, scope, format, auth }: ClientCredentials,
  clientSecret: string,
) => {
  const members = {
    grant_type: 'client_credentials',
    ...(scope !== undefined && { scope }),
    ...(auth === 'post' && { client_id: clientId, client_secret: clientSecret }),
  };
  const isForm = format === 'form';
  const escape = auth === 'basic' ? escapeForForms : (text: string): string => text;
  const credentials = `${escape(clientId)}:${escape(clientSecret)}`;
  return {
    headers: {
      accept: 'application/json',
      'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json',
      ...(auth !== 'post' && {
        authorization: `Basic ${Buffer.from(credentials).toString('base64')}`,
      }),
    },
    body: isForm ? new URLSearchParams(members).toString() : JSON.stringify(members),
  };
};
