// The kinds of failed loads, in one table: what is wrong, what to do, at which step of the
// load, and what clients get without a list to serve. The error, the metrics, the answers, the
// status page and the doctor use it, and a test compares the documents with it.

export interface FailureKind extends FailureTexts {
  /** The problem that clients get while there is no list to serve. */
  readonly problem:
    'provider_unavailable' | 'provider_timeout' | 'provider_invalid_answer' | 'internal_error';
}

export interface FailureTexts {
  /** What is wrong, for an operator who does not know the service. */
  readonly summary: string;
  readonly actions: readonly Action[];
  /** The step of the load that fails; undefined where only what the doctor sees can tell. */
  readonly step?: LoadStep;
}

/** What to do: a sentence, or one that a shell command completes. */
export type Action = string | { readonly text: string; readonly command: ShellCommand };

export type ShellCommand = 'doctor' | 'accept-shrunk' | 'accept-drifted';

/** The steps in the order in which a load takes them. */
export const LOAD_STEPS = [
  'token',
  'address',
  'TLS',
  'status',
  'content',
  'list',
  'entries',
] as const;

export type LoadStep = (typeof LOAD_STEPS)[number];

export const RETRIES =
  'The next attempt is made automatically, at the time that is shown. POST /refresh makes one now.';
const withDoctor = (text: string): Action => ({ text, command: 'doctor' });
const RUN_DOCTOR = withDoctor(
  'The doctor makes one request to the provider and reports each step:',
);

/** Makes the names of the kinds a closed set, and checks each row. */
const table = <Kind extends string>(kinds: Readonly<Record<Kind, FailureKind>>) => kinds;

export const FAILURE_KINDS = table({
  /** No connection: refused, unknown host, TLS failure, or lost before an answer began. */
  unreachable: {
    problem: 'provider_unavailable',
    summary:
      'The provider cannot be reached. It is down, or something in between is: DNS, network, proxy or TLS.',
    actions: [RETRIES, RUN_DOCTOR],
  },
  /**
   * The proxy in HTTPS_PROXY or HTTP_PROXY: no connection to it, or it opened no tunnel in time.
   */
  proxy_unreachable: {
    problem: 'provider_unavailable',
    summary:
      'The proxy in HTTPS_PROXY or HTTP_PROXY cannot be reached, or does not respond: its address is wrong, it is down, or a firewall is in between. The request did not reach the provider.',
    actions: [
      'Check HTTPS_PROXY or HTTP_PROXY; if this host needs no proxy, add it to NO_PROXY.',
      'Tell the people who run the proxy.',
      RETRIES,
      RUN_DOCTOR,
    ],
    step: 'address',
  },
  /** The proxy answered that it does not let this request through: 407, 403 or another 4xx. */
  proxy_refused: {
    problem: 'provider_unavailable',
    summary:
      'The proxy in HTTPS_PROXY or HTTP_PROXY does not accept the user and password, or does not allow the provider’s host or port. The request did not reach the provider.',
    actions: [
      'Check the user and password in HTTPS_PROXY or HTTP_PROXY; a change needs a restart.',
      'Then ask who runs the proxy to allow this host.',
      RUN_DOCTOR,
    ],
    step: 'address',
  },
  /** No complete answer inside PROVIDER_TIMEOUT. */
  timeout: {
    problem: 'provider_timeout',
    summary: 'The provider does not send a complete response within PROVIDER_TIMEOUT.',
    actions: [RETRIES, 'If the provider is merely slow, raise PROVIDER_TIMEOUT.', RUN_DOCTOR],
  },
  /** 429. */
  rate_limited: {
    problem: 'provider_unavailable',
    summary:
      'The provider got too many requests, perhaps also from another program with the same credentials.',
    actions: [
      'Nothing at first: the service waits for as long as the provider asks, but without a list to serve for at most 1 min.',
      'If it lasts, find out who else uses the credentials, or raise CACHE_TTL.',
    ],
    step: 'status',
  },
  /** 5xx. */
  unavailable: {
    problem: 'provider_unavailable',
    summary: 'The provider, or a gateway in front of it, has an internal failure.',
    actions: ['Tell the provider. Nothing on this side appears to be wrong.', RETRIES],
    step: 'status',
  },
  /** 401: the provider does not accept the token. */
  unauthorized: {
    problem: 'provider_invalid_answer',
    summary: 'The provider rejects the access token.',
    actions: [
      'Install a valid token. A token file is read again automatically; a changed environment variable needs a restart.',
      RUN_DOCTOR,
    ],
  },
  /** There is no token to send: its file cannot be read, or the token endpoint gives none. */
  no_token: {
    problem: 'provider_invalid_answer',
    summary:
      'There is no access token: the token file is unusable, or the token endpoint issues none.',
    actions: [
      'Check the token file, or the token endpoint’s address and the client credentials.',
      RUN_DOCTOR,
    ],
  },
  /** 403, 404, another 4xx, a redirect, or a success other than 200. */
  unexpected_status: {
    problem: 'provider_invalid_answer',
    summary: 'The provider responds with a status other than 200, such as 403, 404 or a redirect.',
    actions: ['Check the base address, and the rights that these credentials have.', RUN_DOCTOR],
  },
  /** Not JSON, not UTF-8, cut short, labelled as something else, or nested too deep. */
  malformed: {
    problem: 'provider_invalid_answer',
    summary:
      'The provider’s response is not valid JSON. Often it is the error page of something in between.',
    actions: [RUN_DOCTOR, 'If the response is the provider’s own, tell the provider.'],
  },
  /** JSON, but not a list. */
  not_a_list: {
    problem: 'provider_invalid_answer',
    summary: 'The provider’s response is JSON, but not a list. Its format may have changed.',
    actions: [RUN_DOCTOR, 'Ask the provider whether the change is intended.'],
  },
  /** More than PROVIDER_MAX_BODY, received or published, or more entries than any list has. */
  too_large: {
    problem: 'provider_invalid_answer',
    summary:
      'The provider’s response is larger than PROVIDER_MAX_BODY allows after decompression, or has more than 50,000 entries, or one above 64 KiB.',
    actions: [
      'See under “Details” which it is, and ask the provider whether that is correct. If it is, raise PROVIDER_MAX_BODY (up to 16mb); the other limits are fixed.',
    ],
    step: 'content',
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
    step: 'entries',
  },
  /** Fewer entries than GUARD_MIN_BANKS. */
  too_few: {
    problem: 'provider_invalid_answer',
    summary:
      'The provider’s list is empty for this client, or shorter than GUARD_MIN_BANKS expects, so it was refused.',
    actions: [
      'Ask the provider whether this client may see the banks. If so few are right, lower GUARD_MIN_BANKS.',
    ],
    step: 'entries',
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
    step: 'entries',
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
    step: 'entries',
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
      { text: 'If they are, accept this one list:', command: 'accept-shrunk' },
    ],
    step: 'entries',
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
        command: 'accept-drifted',
      },
    ],
    step: 'entries',
  },
  /** A defect of this service: anything thrown that is none of the above. */
  internal: {
    problem: 'internal_error',
    summary: 'An unexpected error in this service: a defect.',
    actions: ['Report it with the log from the time of the first failure.', RETRIES],
  },
});

/** In place of the texts of a kind, where a file of this service keeps the request from being made. */
export const UNUSABLE_FILE_TEXTS: FailureTexts = {
  summary: 'No request was made, because a file that it needs cannot be used.',
  actions: ['Correct the file of the variable that is named.', RETRIES],
  // The other files are those of the token, which is a step of its own.
  step: 'TLS',
};
