import { banksUrl } from '../../provider/exchange.ts';
import { baseUrlVariable, type Advice, type Evidence } from './evidence.ts';

// Why the provider answers with another status than 200, 401, 429 or 5xx.

export const adviseOnStatus = ({ config, observation }: Evidence): Advice => {
  const status = observation.provider.head?.status ?? 0;
  const variable = baseUrlVariable(config);
  const advice = (likely: string, next: string): Advice => ({ step: 'status', likely, next });
  if (status === 403)
    return advice(
      "the token is valid but may not read the banks, or this machine's address is not on a list of allowed ones",
      'ask the provider for the right to read the banks, and whether addresses must be registered',
    );
  if (status === 404)
    return advice(
      /\/(api|v\d+|banks)(\/|$)/.test(config.provider.baseUrl.pathname)
        ? `${variable} contains a part of the path that is added to it: /api/v1/banks`
        : `there is no bank list at ${banksUrl(config.provider.baseUrl).href}`,
      `set ${variable} to what comes before /api/v1/banks in the provider's documentation`,
    );
  if (status >= 300 && status < 400)
    return advice(
      'a redirect, which is never followed because the token would go with it: another host, https:, or a login page',
      `set ${variable} to the address of the API itself`,
    );
  if (status >= 400)
    return advice(
      'the provider does not accept the request, which has only a path and a token',
      `check ${variable}; then ask the provider what the request lacks`,
    );
  return advice(
    'the provider accepts the request but sends no list',
    'ask the provider whether there is a list for this client',
  );
};
