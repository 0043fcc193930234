import type { LoadStep } from '../failure-kinds.ts';
import type { Symptoms } from './symptoms.ts';
import { TOKEN_SYMPTOMS, type TokenWords } from './token-symptoms.ts';

// The cause and the advice for each symptom of the load, by the step at which it is seen.

/** What stands in the texts. */
export interface LoadWords extends TokenWords {
  /** Without the port. */
  readonly hostname: string;
  /** The variable with the address. */
  readonly variable: string;
  /** With the port. */
  readonly host: string;
  /** PROVIDER_TIMEOUT. */
  readonly timeout: string;
  readonly environment: string;
  readonly tokenVariable: string;
  readonly banksUrl: string;
  /** When the head of the response had arrived. */
  readonly headAfter: string;
  /** What the response has instead of a list. */
  readonly members: string;
  /** What to do with BANK_LIST. */
  readonly listLine: string;
  /** BANK_LIST. */
  readonly listPath: string;
  /** What the entries lack. */
  readonly hints: string;
}

export const LOAD_SYMPTOMS = {
  token: TOKEN_SYMPTOMS,
  address: [
    {
      symptoms: ['unknown host'],
      likely: ({ hostname }) => `DNS knows no host ${hostname}, or does not answer`,
      next: ({ variable }) =>
        `look for a typing mistake in ${variable}; then check the DNS and the network of this machine or container`,
    },
    {
      symptoms: ['refused'],
      likely: ({ host }) => `nothing listens at ${host}`,
      next: ({ variable }) =>
        `check the port in ${variable}; inside a container, 127.0.0.1 and localhost are the container itself`,
    },
    {
      symptoms: ['no route', 'connecting timed out'],
      likely:
        'there is no route: a firewall that drops what is sent there, a VPN that is not connected, an address of another network, or a DNS server that does not answer',
      next: ({ host }) => `ask your network team to open the route to ${host}`,
    },
    {
      symptoms: ['connecting timed out early'],
      likely: ({ timeout }) =>
        `PROVIDER_TIMEOUT, ${timeout}, is too short to connect over a network`,
      next: 'raise PROVIDER_TIMEOUT to some seconds (its default is 5s), and run this again',
    },
    {
      symptoms: ['PROXY_CANNOT_CONNECT'],
      likely: ({ host }) => `the proxy cannot find or reach ${host}`,
      next: ({ variable }) =>
        `check ${variable}; if this host needs no proxy, add it to NO_PROXY; then ask who runs the proxy`,
    },
    {
      symptoms: ['no connection'],
      likely: 'the connection failed before anything was sent',
      next: ({ variable }) => `check ${variable}, and the network in between`,
    },
  ],
  TLS: [
    {
      symptoms: ['certificate out of date'],
      likely: "the certificate has expired or is not valid yet, or this machine's clock is wrong",
      next: 'check the clock; then ask the provider to renew its certificate',
    },
    {
      symptoms: ['certificate of another name'],
      likely: ({ hostname }) => `the certificate is for another name than ${hostname}`,
      next: ({ variable }) => `set ${variable} to the name in the provider's certificate`,
    },
    {
      symptoms: ['untrusted certificate', 'incomplete certificate chain', 'weak certificate'],
      likely:
        'the certificate comes from an authority that Node does not know: a private one, or a proxy that inspects TLS',
      next: "set PROVIDER_TLS_CA_FILE to a PEM file with that authority's certificate; never disable the check",
    },
    {
      symptoms: ['client certificate required', 'handshake refused'],
      likely: 'the server requires a client certificate (mutual TLS)',
      next: 'set PROVIDER_TLS_CERT_FILE and PROVIDER_TLS_KEY_FILE to the pair that the provider issued or registered',
    },
    {
      symptoms: ['client certificate refused'],
      likely:
        'the server does not accept the client certificate: from another authority, not registered, revoked, or expired by its clock',
      next: 'check that PROVIDER_TLS_CERT_FILE has the current certificate for this environment, with its intermediate ones; ask the provider',
    },
    {
      symptoms: ['no common TLS', 'no handshake'],
      likely:
        'the server has no TLS version or cipher in common with this machine: it needs TLS 1.2 or 1.3, or does not speak TLS',
      next: ({ variable }) => `check the scheme and port of ${variable}`,
    },
  ],
  status: [
    {
      symptoms: ['closed', 'not HTTP'],
      likely:
        'the server closes the connection without a response, or does not speak HTTP: its port wants the other scheme, it requires a client certificate or refuses this one, or it crashes',
      next: ({ host, variable }) =>
        `check the scheme and port of ${variable}; then ask the operator of ${host}`,
    },
    {
      symptoms: ['no response in time'],
      likely:
        'the provider accepted the request and did not begin to respond: it is slow, or it hangs',
      next: 'raise PROVIDER_TIMEOUT; if that does not help, ask the provider',
    },
    {
      symptoms: ['401'],
      likely: ({ environment }) =>
        `the token is wrong, has expired, or belongs to another environment than ${environment}`,
      next: ({ tokenVariable }) =>
        `get a new token for ${tokenVariable}: the token alone, without "Bearer" and without quotes`,
    },
    {
      symptoms: ['401 with a granted token'],
      likely: 'the endpoint grants tokens that the list rejects',
      next: 'check that PROVIDER_TOKEN_URL and PROVIDER_CLIENT_ID belong to the environment, and whether PROVIDER_TOKEN_SCOPE must name a scope',
    },
    {
      symptoms: ['403'],
      likely:
        "the token is valid but may not read the banks, or this machine's address is not on a list of allowed ones",
      next: 'ask the provider for the right to read the banks, and whether addresses must be registered',
    },
    {
      symptoms: ['404'],
      likely: ({ banksUrl, variable }) =>
        `there is no bank list at ${banksUrl}, which is ${variable} with /api/v1/banks`,
      next: ({ variable }) =>
        `set ${variable} to what comes before /api/v1/banks in the provider's documentation`,
    },
    {
      symptoms: ['rate limited'],
      likely:
        'the provider got too many requests, perhaps also from another program with the same credentials',
      next: 'wait some minutes and run this again; if it fails again, find out who else uses the credentials',
    },
    {
      symptoms: ['redirect'],
      likely:
        'a redirect, which is never followed because the token would go with it: another host, https:, or a login page',
      next: ({ variable }) => `set ${variable} to the address of the API itself`,
    },
    {
      symptoms: ['other status'],
      likely:
        'the provider does not accept the request, which has only a path and a token, or sends no list for it',
      next: ({ variable }) =>
        `check ${variable}; then ask the provider what the request lacks, and whether there is a list for this client`,
    },
  ],
  content: [
    {
      symptoms: ['large head'],
      likely:
        'the headers of the response have more than 16 KiB: cookies, or a policy that a gateway adds',
      next: ({ host }) => `ask the provider, or the operator of ${host}, to send fewer headers`,
    },
    {
      symptoms: ['not complete in time'],
      likely: ({ headAfter }) =>
        `the response began after ${headAfter} and did not end: the provider or the network is slow`,
      next: 'raise PROVIDER_TIMEOUT; if that does not help, ask the provider',
    },
    {
      symptoms: ['too large'],
      likely:
        'the list is larger than PROVIDER_MAX_BODY allows after decompression, or it is not a list',
      next: 'raise PROVIDER_MAX_BODY (up to 16mb) and run this again to see what it is',
    },
    {
      symptoms: ['beyond a fixed limit'],
      likely:
        'more than 50,000 entries, an entry above 64 KiB, or more published content than PROVIDER_MAX_BODY: see above which',
      next: ({ variable }) =>
        `check that ${variable} has the list of banks, and ask the provider; of these limits only PROVIDER_MAX_BODY can be raised`,
    },
    {
      symptoms: ['cut short'],
      likely: 'the connection ended in the middle of the response, or its compression is damaged',
      next: 'run this again; if the failure persists, ask the provider, or the operator of a proxy in between',
    },
    {
      symptoms: ['web page'],
      likely:
        'a web page instead of the list: a login, a maintenance page, or a gateway in front of the API',
      next: ({ variable }) =>
        `set ${variable} to the address of the API itself; if it is right, ask the provider`,
    },
    {
      symptoms: ['not UTF-8'],
      likely: 'the text has another encoding than UTF-8, such as ISO-8859-1',
      next: 'ask the provider for UTF-8 (RFC 8259 section 8.1)',
    },
    {
      symptoms: ['damaged'],
      likely:
        'the response is empty, or its JSON is damaged, ends too early, or is nested too deeply',
      next: 'run this again; if the failure persists, ask the provider',
    },
  ],
  list: [
    {
      symptoms: ['no list'],
      likely: 'another resource, or an error sent with status 200',
      next: ({ variable }) => `check ${variable}; then ask the provider`,
    },
    {
      symptoms: ['in an envelope'],
      likely: ({ members }) => `an envelope: the list is in the member ${members}`,
      next: ({ listLine }) => listLine,
    },
    {
      symptoms: ['elsewhere'],
      likely: ({ listPath }) =>
        `there is no list at BANK_LIST (${listPath}), but there is another one`,
      next: ({ listLine }) => listLine,
    },
  ],
  entries: [
    {
      symptoms: ['secret in the list'],
      likely: 'a published value contains the secret that is named above, so no list is served',
      next: 'tell the provider at once, and rotate that secret; until the provider stops, take the field that contains it out of BANK_FIELDS',
    },
    {
      symptoms: ['objects'],
      likely: ({ hints }) => hints,
      next: 'set BANK_FIELDS to the fields inside, as below',
    },
    {
      symptoms: ['no objects'],
      likely: ({ hints }) => hints,
      next: ({ variable }) =>
        `check that ${variable} has the list of banks, and BANK_LIST if there are others in the response; then tell the provider`,
    },
    {
      symptoms: ['too few objects'],
      likely: ({ hints }) => hints,
      next: 'the list is accepted once GUARD_MAX_SHRINK allows so many unusable entries',
    },
    {
      symptoms: ['alike'],
      likely: ({ hints }) => hints,
      next: 'publish a field in which no two entries are alike, see the table below; if there is one, ask the provider',
    },
    {
      symptoms: ['unusable'],
      likely: ({ hints }) => hints,
      next: 'set BANK_FIELDS and BANK_REQUIRED_FIELDS to fields that the table below shows as filled',
    },
  ],
} as const satisfies Readonly<Record<LoadStep, Symptoms<LoadWords>>>;

/** What the table has a row for. */
export type LoadSymptom = (typeof LOAD_SYMPTOMS)[LoadStep][number]['symptoms'][number];
