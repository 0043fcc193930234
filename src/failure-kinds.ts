// The kinds of failed loads, in one table: what is wrong, what to do, which variables may change it,
// and what clients get without a list to serve. The error, the metrics, the answers, the status
// page and the doctor use it, and a test compares the documents with it.

export interface FailureKind {
  /** The problem that clients get while there is no list to serve. */
  readonly problem:
    'provider_unavailable' | 'provider_timeout' | 'provider_invalid_answer' | 'internal_error';
  /** What is wrong, for an operator who does not know the service. */
  readonly summary: string;
  readonly actions: readonly Action[];
  /** The variables that may change it, with their values where those are few. */
  readonly variables: readonly string[];
}

/** What to do: a sentence, or one that a shell command completes. */
export type Action = string | { readonly text: string; readonly command: ShellCommand };

/** A command of the program, or what to POST to on the management port. */
export type ShellCommand =
  'doctor' | 'refresh' | 'refresh?accept=shrunk' | 'refresh?accept=drifted';

export const RETRIES: Action = {
  text: 'The next attempt is made automatically, at the time that is shown. To make one now:',
  command: 'refresh',
};
const withDoctor = (text: string): Action => ({ text, command: 'doctor' });
/** Of a list that is compared with the cached one. */
const UNLESS_ACCEPTED =
  'If you do not accept it, users get the cached list until that expires. After that the next list is compared with nothing; to keep the cached one for longer, raise CACHE_MAX_STALE and restart.';
export const RUN_DOCTOR = withDoctor(
  'The doctor makes one request to the provider, tries stores and ports, and reports each step:',
);

/** The base address of the environment, or the address of the token endpoint. */
export const BASE_URL_VARIABLES = 'PROVIDER_…_BASE_URL';
/** The variables of the configured way to a token. */
export const TOKEN = 'PROVIDER_ACCESS_TOKEN';
const PROXIES = ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY'];

export const FAILURE_KINDS = {
  /**
   * No connection: refused, unknown host, TLS failure, a proxy that opens none, or lost before an
   * answer began.
   */
  unreachable: {
    problem: 'provider_unavailable',
    summary:
      'The provider cannot be reached. It is down, or something in between is: DNS, network, proxy or TLS.',
    actions: [
      'Check the address and its port, and the DNS and the network of this machine. Inside a container, localhost is the container itself.',
      'If the details name its certificate, tell the provider, and check the clock of this machine.',
      'If the details name a proxy, check its address, user and password in HTTPS_PROXY or HTTP_PROXY, or ask who runs it to allow this host. If this host needs no proxy, add it to NO_PROXY.',
      RETRIES,
      RUN_DOCTOR,
    ],
    variables: [BASE_URL_VARIABLES, ...PROXIES, 'PROVIDER_TLS_CA_FILE', 'PROVIDER_TLS_CERT_FILE'],
  },
  /** No complete answer inside PROVIDER_TIMEOUT. */
  timeout: {
    problem: 'provider_timeout',
    summary:
      'The provider, or the token endpoint, does not send a complete response within PROVIDER_TIMEOUT.',
    actions: [
      RETRIES,
      'If it is merely slow, raise PROVIDER_TIMEOUT. If there is no connection at all, a firewall may drop what is sent.',
      RUN_DOCTOR,
    ],
    variables: ['PROVIDER_TIMEOUT', BASE_URL_VARIABLES, ...PROXIES],
  },
  /** 429. */
  rate_limited: {
    problem: 'provider_unavailable',
    summary:
      'The provider got too many requests, perhaps also from another program with the same credentials.',
    actions: [
      'Do nothing at first. The service waits as long as the provider asks, but at most 1 min while there is no list to serve.',
      'If it lasts, find out who else uses the credentials, or raise CACHE_TTL.',
    ],
    variables: ['CACHE_TTL'],
  },
  /** 5xx. */
  unavailable: {
    problem: 'provider_unavailable',
    summary: 'The provider, or a gateway in front of it, has an internal failure.',
    actions: ['Tell the provider. Nothing on this side appears to be wrong.', RETRIES],
    variables: [BASE_URL_VARIABLES],
  },
  /** 401: the provider does not accept the token. */
  unauthorized: {
    problem: 'provider_invalid_answer',
    summary:
      'The provider rejects the access token: it has expired, was revoked, or belongs to the other environment.',
    actions: [
      'Install a valid token. A token file is read again automatically; a changed environment variable needs a restart. If the token is granted, check that token endpoint and provider belong together. Some providers answer 401 too if an API key is missing or wrong (PROVIDER_HEADERS).',
      RUN_DOCTOR,
    ],
    variables: [TOKEN, 'PROVIDER_HEADERS', BASE_URL_VARIABLES],
  },
  /** The token endpoint has responded, and gives no token. */
  no_token: {
    problem: 'provider_invalid_answer',
    summary: 'The token endpoint responds, but grants no access token.',
    actions: [
      'Compare the request with the provider’s documentation: address, client, way of authentication, format and parameters. A correct secret is rejected too if it is sent in another way than the endpoint expects.',
      RUN_DOCTOR,
    ],
    variables: [
      'PROVIDER_TOKEN_URL',
      'PROVIDER_CLIENT_ID',
      'PROVIDER_CLIENT_SECRET',
      'PROVIDER_TOKEN_AUTH (basic, basic_plain or post)',
      'PROVIDER_TOKEN_FORMAT (form or json)',
      'PROVIDER_TOKEN_SCOPE',
      'PROVIDER_TOKEN_PARAMS',
      'PROVIDER_TOKEN_FIELD',
    ],
  },
  /** 403, 404, another 4xx, a redirect, or a success other than 200. */
  unexpected_status: {
    problem: 'provider_invalid_answer',
    summary:
      'The provider responds with a status other than 200, such as 403, 404 or a redirect, which is not followed.',
    actions: [
      'Check the base address, to which the service adds /api/v1/banks, and the rights that these credentials have. With 403, ask whether an API key is needed (PROVIDER_HEADERS), or whether addresses must be registered.',
      RUN_DOCTOR,
    ],
    variables: [BASE_URL_VARIABLES, 'PROVIDER_HEADERS', 'PROVIDER_QUERY', TOKEN],
  },
  /** Not JSON, not UTF-8, cut short, with another encoding than requested, or nested too deep. */
  malformed: {
    problem: 'provider_invalid_answer',
    summary:
      'The provider’s response is not valid JSON in UTF-8, or cannot be read. Often it is a maintenance page, or the error page of something in between.',
    actions: [
      RUN_DOCTOR,
      'If the response is the provider’s own, tell the provider. Otherwise check the base address.',
    ],
    variables: [BASE_URL_VARIABLES],
  },
  /** JSON, but not a list. */
  not_a_list: {
    problem: 'provider_invalid_answer',
    summary: 'The provider’s response is JSON, but not a list. Its format may have changed.',
    actions: [
      RUN_DOCTOR,
      'If the list is inside the response, set BANK_LIST to its path. Otherwise ask the provider whether the change is intended.',
    ],
    variables: ['BANK_LIST', BASE_URL_VARIABLES],
  },
  /** The list, what would be published of it, or the response of the token endpoint. */
  too_large: {
    problem: 'provider_invalid_answer',
    summary:
      'A response is too large: the list is larger than PROVIDER_MAX_BODY after decompression, has more than 50,000 entries or would publish more than 16 MiB, or a grant has more than 64 KiB.',
    actions: [
      'See under “Details” which it is, and ask whoever sent it whether that is correct.',
      'If the provider’s response is, raise PROVIDER_MAX_BODY (up to 16mb). If too much would be published, choose fewer fields with BANK_FIELDS. The other limits are fixed.',
    ],
    variables: ['PROVIDER_MAX_BODY', 'BANK_FIELDS', BASE_URL_VARIABLES],
  },
  /** A published name or value contains a secret of this service. */
  echoed_secret: {
    problem: 'provider_invalid_answer',
    summary:
      'The provider’s list contains a secret of this service, such as the access token, in a published value. The list was refused.',
    actions: [
      'See under “Details” whose secret it is. Tell the provider at once, and rotate that secret.',
      'Until the provider stops, take the field that contains it out of BANK_FIELDS, and restart this service.',
    ],
    variables: ['BANK_FIELDS'],
  },
  /** Fewer entries than GUARD_MIN_BANKS. */
  too_few: {
    problem: 'provider_invalid_answer',
    summary:
      'The provider’s list is empty for this client, or shorter than GUARD_MIN_BANKS expects, so it was refused.',
    actions: [
      'Ask the provider whether this client may see the banks. If so few are right, lower GUARD_MIN_BANKS.',
    ],
    variables: ['GUARD_MIN_BANKS'],
  },
  /** The share of unusable entries is above GUARD_MAX_SHRINK. */
  unusable_entries: {
    problem: 'provider_invalid_answer',
    summary:
      'More of the provider’s entries are unusable than GUARD_MAX_SHRINK allows, so the list was refused.',
    actions: [
      withDoctor(
        'Compare BANK_FIELDS and BANK_REQUIRED_FIELDS with the fields that the doctor finds:',
      ),
    ],
    variables: ['BANK_FIELDS', 'BANK_REQUIRED_FIELDS', 'GUARD_MAX_SHRINK'],
  },
  /**
   * No entry has a field of BANK_FIELDS that is not optional, and no list is cached to compare
   * with.
   */
  missing_field: {
    problem: 'provider_invalid_answer',
    summary:
      'A name in BANK_FIELDS is wrong, or the provider has renamed the field: no entry has it, and no list is cached. The list was refused.',
    actions: [
      withDoctor('Compare BANK_FIELDS with the fields that the doctor finds:'),
      'Correct the name. If the field may really be missing, write ? after it in BANK_FIELDS. Then restart this service.',
    ],
    variables: ['BANK_FIELDS'],
  },
  /**
   * The list lost more than GUARD_MAX_SHRINK of the cached one's entries, or of the largest one's
   * of the last days.
   */
  shrunk: {
    problem: 'provider_invalid_answer',
    summary: 'The provider’s list lost more banks than GUARD_MAX_SHRINK allows, so it was refused.',
    actions: [
      'Ask the provider whether that many banks are really gone.',
      { text: 'If they are, accept this one list:', command: 'refresh?accept=shrunk' },
      UNLESS_ACCEPTED,
    ],
    variables: ['GUARD_MAX_SHRINK'],
  },
  /** More than GUARD_MAX_DRIFT of the entries lost a published field, or changed its JSON type. */
  drifted: {
    problem: 'provider_invalid_answer',
    summary:
      'More of the provider’s entries lost a published field, or changed its JSON type, than GUARD_MAX_DRIFT allows, so the list was refused.',
    actions: [
      withDoctor(
        'See under “Details” which fields changed, and compare BANK_FIELDS with the fields that the doctor finds:',
      ),
      'If a field was renamed, give BANK_FIELDS its new name, such as name:newName, and restart this service.',
      {
        text: 'If the new list is right as it is, and your frontends can read it, accept this one list:',
        command: 'refresh?accept=drifted',
      },
      UNLESS_ACCEPTED,
    ],
    variables: ['BANK_FIELDS', 'GUARD_MAX_DRIFT'],
  },
  /** A secret, a certificate or a key is in a file without usable content: no request was made. */
  unusable_file: {
    problem: 'provider_unavailable',
    summary: 'No request was made, because a file that it needs cannot be used.',
    actions: ['Correct the file of the variable that is named.', RETRIES],
    variables: [],
  },
  /** A defect of this service: anything thrown that is none of the above. */
  internal: {
    problem: 'internal_error',
    summary: 'An unexpected error in this service: a defect.',
    actions: ['Report it with the log from the time of the first failure.', RETRIES],
    variables: [],
  },
} as const satisfies Record<string, FailureKind>;
