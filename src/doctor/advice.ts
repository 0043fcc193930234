import type { LoadError } from '../banks/load-error.ts';
import type { Config } from '../config/config.ts';
import { banksUrl } from '../provider/exchange.ts';
import { assertJsonType, parseJson } from '../provider/contract.ts';
import type { Facts, Way } from './exchange.ts';
import { countOthers, findLists, surveyFields } from './fields.ts';
import { ms, percent } from './units.ts';

// Why an exchange failed and what to do about it: pure, in words of its own. Of the provider's, only names of fields and
// members get through.

/** The steps in the order in which an exchange takes them. */
export const STEPS = ['token', 'address', 'TLS', 'status', 'content', 'list', 'entries'] as const;

export type StepName = (typeof STEPS)[number] | 'configuration';

export interface Advice {
  readonly step: StepName;
  readonly likely: string;
  readonly next: string;
}

/** Why the load failed, as far as it can be told from outside: the step, the likely cause, and what to do. */
export const advise = (error: LoadError, config: Config, facts: Facts): Advice => {
  const { environment } = config.provider;
  const baseUrlVariable = baseUrlVariableOf(config);
  if (facts.tokenAfterMs === undefined) return explainToken(error, config, facts.tokenWay);
  switch (error.kind) {
    case 'unreachable':
      return explainWay(facts.providerWay, config.provider.baseUrl, baseUrlVariable);
    case 'timeout':
      return explainTimeout(facts.providerWay);
    case 'rate_limited':
      return {
        step: 'status',
        likely: 'the provider was asked too often, perhaps by another program with the same token',
        next: 'wait as long as the provider wants and run this again; the service itself waits by itself',
      };
    case 'unavailable':
      return {
        step: 'status',
        likely: 'the provider, or a gateway in front of it, has a failure of its own',
        next: 'try again later, or ask the provider; nothing here is wrong as far as can be seen',
      };
    case 'unauthorized':
      return {
        step: 'status',
        likely: `the token is wrong, has expired, or belongs to another environment than ${environment}`,
        next: NEXT_FOR_REJECTED_TOKEN[config.provider.token.kind],
      };
    case 'no_token':
      return explainToken(error, config, facts.tokenWay);
    case 'unexpected_status':
      return explainStatus(facts.providerWay.head?.status ?? 0, config, baseUrlVariable);
    case 'malformed':
      return explainContent(facts, baseUrlVariable);
    case 'not_a_list':
      return explainNoList(facts, baseUrlVariable);
    case 'too_large':
      return {
        step: 'content',
        likely:
          'the list is larger than PROVIDER_MAX_BODY allows after decompression, or it is no list at all',
        next: 'raise PROVIDER_MAX_BODY (up to 256mb) and run this again to see what it is',
      };
    case 'too_few':
      return {
        step: 'entries',
        likely: 'the list is empty for this client, or shorter than GUARD_MIN_BANKS expects',
        next: 'ask the provider whether this client may see the banks; lower GUARD_MIN_BANKS if so few are right',
      };
    case 'unusable_entries':
      return {
        step: 'entries',
        likely: entryHints(config, facts).join('; ') || 'the entries have nothing in the published fields',
        next: 'set BANK_FIELDS and BANK_REQUIRED_FIELDS to fields that the table below shows as filled',
      };
    case 'missing_field':
      return {
        step: 'entries',
        likely: 'BANK_FIELDS has a wrong name, or the provider renamed the field',
        next: 'set BANK_FIELDS to fields that the table below shows as filled; a name ending in ? may be missing',
      };
    case 'shrunk':
    case 'drifted':
    case 'internal':
      return {
        step: 'list',
        likely: 'a defect of this program',
        next: 'report it with this output; it holds no secret',
      };
  }
};

const NEXT_FOR_REJECTED_TOKEN = {
  fixed: 'get a new token and set PROVIDER_ACCESS_TOKEN to it, without "Bearer" and without quotes',
  file: 'write a new token, and nothing else, into the file that PROVIDER_ACCESS_TOKEN_FILE names',
  'client-credentials':
    'the endpoint grants tokens that the list rejects: check that PROVIDER_TOKEN_URL and PROVIDER_CLIENT_ID belong to ' +
    'the environment, and whether PROVIDER_TOKEN_SCOPE must name a scope',
} as const satisfies Record<Config['provider']['token']['kind'], string>;

const explainToken = (error: LoadError, { provider: { token } }: Config, way: Way): Advice => {
  if (token.kind !== 'client-credentials') {
    return {
      step: 'token',
      likely: 'the file is empty, or holds more than one line or a blank',
      next: 'write the token, and nothing else, into the file that PROVIDER_ACCESS_TOKEN_FILE names',
    };
  }
  if (error.kind === 'unreachable') {
    const { likely, next } = explainWay(way, token.url, 'PROVIDER_TOKEN_URL');
    return { step: 'token', likely, next };
  }
  if (error.kind === 'timeout') return { ...explainTimeout(way), step: 'token' };
  if (way.head?.status === 401 || way.head?.status === 400) {
    return {
      step: 'token',
      likely: 'the id, the secret or the scope is wrong, or belongs to the other environment',
      next: 'check PROVIDER_CLIENT_ID, PROVIDER_CLIENT_SECRET and PROVIDER_TOKEN_SCOPE with whoever issued them',
    };
  }
  if (error.kind === 'rate_limited' || error.kind === 'unavailable') {
    return {
      step: 'token',
      likely: 'the token endpoint has a failure of its own, or was asked too often',
      next: 'try again later, or ask the provider',
    };
  }
  return {
    step: 'token',
    likely: 'PROVIDER_TOKEN_URL names something else than an OAuth 2.0 token endpoint',
    next: 'check PROVIDER_TOKEN_URL: the grant of RFC 6749 section 4.4, answered with JSON and token_type Bearer',
  };
};

/** Why there is no connection, by the code that Node and OpenSSL give. */
const explainWay = ({ connection, connectError = '' }: Way, url: URL, variable: string): Advice => {
  const { host, port, protocol } = url;
  if (connection) {
    return {
      step: 'status',
      likely:
        'something listens there but ends the connection: a port that wants https:, a gateway, or a crash',
      next: `check the scheme and port of ${variable}; then ask who runs ${host}`,
    };
  }
  switch (connectError) {
    case 'ENOTFOUND':
      return {
        step: 'address',
        likely: `no name server that this machine asks knows ${host}`,
        next: `look for a typing mistake in ${variable}; inside a container, check its DNS`,
      };
    case 'EAI_AGAIN':
      return {
        step: 'address',
        likely: 'the name server does not answer',
        next: "check this machine's or container's DNS and network",
      };
    case 'ECONNREFUSED':
      return {
        step: 'address',
        likely: `nothing listens on port ${port || (protocol === 'https:' ? '443' : '80')} of ${url.hostname}`,
        next: `check the port in ${variable}; inside a container, 127.0.0.1 and localhost are the container itself`,
      };
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'ETIMEDOUT':
    case 'UND_ERR_CONNECT_TIMEOUT':
      return {
        step: 'address',
        likely: 'no route: a firewall, a VPN that is not up, or an address of another network',
        next: `ask who runs this network to let it reach ${host}`,
      };
    case 'CERT_HAS_EXPIRED':
    case 'CERT_NOT_YET_VALID':
      return {
        step: 'TLS',
        likely: "the certificate is out of its dates, or this machine's clock is wrong",
        next: 'check the clock; then tell the provider to renew its certificate',
      };
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return {
        step: 'TLS',
        likely: `the certificate is for another name than ${url.hostname}`,
        next: `set ${variable} to the name that the provider's certificate has`,
      };
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
      return {
        step: 'TLS',
        likely:
          'the certificate comes from an authority that Node does not know: a private one, or an inspecting proxy',
        next: "set NODE_EXTRA_CA_CERTS to a file with that authority's certificate; never switch the check off",
      };
    default:
      return protocol === 'https:'
        ? {
            step: 'TLS',
            likely:
              'what listens there does not speak TLS as this machine does, or wants a client certificate',
            next: `check the scheme and port of ${variable}`,
          }
        : {
            step: 'address',
            likely: 'the connection failed before anything was sent',
            next: `check ${variable}, and the network between here and there`,
          };
  }
};

const explainTimeout = ({ connection, head }: Way): Advice => {
  if (!connection) {
    return {
      step: 'address',
      likely: 'a firewall drops what is sent there without a word, or the name server does not answer',
      next: 'ask who runs this network to let it reach that address',
    };
  }
  return head
    ? {
        step: 'content',
        likely: `the answer began after ${ms(head.afterMs)} and did not end: the provider or the network is slow`,
        next: 'raise PROVIDER_TIMEOUT; if that does not help, ask the provider',
      }
    : {
        step: 'status',
        likely: 'the provider took the request and did not begin to answer: it is slow, or it hangs',
        next: 'raise PROVIDER_TIMEOUT; if that does not help, ask the provider',
      };
};

const explainStatus = (status: number, { provider }: Config, baseUrlVariable: string): Advice => {
  if (status === 403) {
    return {
      step: 'status',
      likely:
        'the token is known but may not read the banks, or this machine’s address is not on a list of allowed ones',
      next: 'ask the provider for the right to read the banks, and whether addresses must be registered',
    };
  }
  if (status === 404) {
    const doubled = /\/(api|v\d+|banks)(\/|$)/.test(provider.baseUrl.pathname);
    return {
      step: 'status',
      likely: doubled
        ? `${baseUrlVariable} holds a part of the path that is added to it: /api/v1/banks`
        : `there is no bank list at ${banksUrl(provider.baseUrl).href}`,
      next: `set ${baseUrlVariable} to what comes before /api/v1/banks in the provider's documentation`,
    };
  }
  if (status >= 300 && status < 400) {
    return {
      step: 'status',
      likely:
        'a redirect, which is never followed since the token would go with it: another host, https:, or a login page',
      next: `set ${baseUrlVariable} to the address of the API itself`,
    };
  }
  if (status >= 400) {
    return {
      step: 'status',
      likely: 'the provider does not accept the request, which has a path and a token and nothing else',
      next: `check ${baseUrlVariable}; then ask the provider what it misses`,
    };
  }
  return {
    step: 'status',
    likely: 'the provider accepts the request but sends no list',
    next: 'ask the provider whether there is a list for this client',
  };
};

const explainContent = ({ answer, providerWay }: Facts, baseUrlVariable: string): Advice => {
  if (!answer) {
    return providerWay.head
      ? {
          step: 'content',
          likely: 'the connection ended in the middle of the answer, or its compression is damaged',
          next: 'run this again; if it stays, ask the provider, or who runs a proxy in between',
        }
      : {
          step: 'status',
          likely: 'what listens there does not speak HTTP, or wants https:',
          next: `check the scheme and port of ${baseUrlVariable}`,
        };
  }
  const text = answer.body.toString('latin1').trimStart();
  if (text.startsWith('<')) {
    return {
      step: 'content',
      likely: 'a web page instead of the list: a login, a maintenance page, or a gateway in front of the API',
      next: `set ${baseUrlVariable} to the address of the API itself; if it is right, ask the provider`,
    };
  }
  if (!passes(() => assertJsonType(answer.contentType)) && passes(() => parseJson(answer.body))) {
    return {
      step: 'content',
      likely: 'the content is JSON, but its Content-Type says otherwise',
      next: 'ask the provider to send application/json in UTF-8: a wrong label is how an error page looks',
    };
  }
  if (!passes(() => new TextDecoder('utf-8', { fatal: true }).decode(answer.body))) {
    return {
      step: 'content',
      likely: 'the text is in another encoding than UTF-8, such as ISO-8859-1',
      next: 'ask the provider for UTF-8 (RFC 8259 section 8.1)',
    };
  }
  return {
    step: 'content',
    likely:
      text === '' ? 'the answer is empty' : 'the JSON is damaged, ends too early, or is nested very deep',
    next: 'run this again; if it stays, ask the provider',
  };
};

const explainNoList = ({ answer }: Facts, baseUrlVariable: string): Advice => {
  const lists = answer ? findLists(parseJson(answer.body)) : [];
  return {
    step: 'list',
    likely:
      lists.length > 0
        ? `an envelope: the list is in the member ${lists.join(' or ')}`
        : 'another resource, or an error told with status 200',
    next:
      lists.length > 0
        ? `check that ${baseUrlVariable} is not a gateway that wraps the answer; if the provider itself does, readList in src/banks/reading/list-reader.ts must unwrap it`
        : `check ${baseUrlVariable}; then ask the provider`,
  };
};

/** What in the configuration or in the entries explains rejected entries, or fields without a value. */
export const entryHints = ({ banks }: Config, facts: Facts): readonly string[] => {
  const entries = entriesOf(facts);
  const fields = surveyFields(entries);
  const filledOf = (from: string): number => fields.find(({ name }) => name === from)?.filled ?? 0;
  const others = countOthers(entries);
  const absent = (banks.fields ?? []).filter(({ from }) => filledOf(from) === 0);
  const required = banks.requiredFields.flatMap((name) => {
    const from = banks.fields?.find((field) => field.name === name)?.from ?? name;
    return filledOf(from) < 1
      ? [`BANK_REQUIRED_FIELDS names ${name}, filled in ${percent(filledOf(from))}`]
      : [];
  });
  return [
    ...(others > 0 ? [`${others} entries are no JSON objects: tell the provider`] : []),
    ...absent.map(({ from }) => `BANK_FIELDS names ${from}, which no entry has`),
    ...required,
  ];
};

/** The entries of an answer that is a list; none otherwise. */
export const entriesOf = ({ answer }: Facts): readonly unknown[] => {
  if (answer?.status !== 200) return [];
  try {
    const value = parseJson(answer.body);
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
};

const passes = (check: () => unknown): boolean => {
  try {
    check();
    return true;
  } catch {
    return false;
  }
};

const baseUrlVariableOf = ({ provider }: Config): string =>
  provider.environment === 'production' ? 'PROVIDER_PRODUCTION_BASE_URL' : 'PROVIDER_SANDBOX_BASE_URL';
