import type { Acceptance } from './banks/guard/guard.ts';
import type { LoadErrorKind } from './banks/load-error.ts';

// What each kind of failed load means and what to do about it: for the status page, the doctor and the documents, whose
// tables a test compares with this one.

export interface FailureKind {
  /** What is wrong, for somebody who has just been woken. */
  readonly summary: string;
  readonly actions: readonly Action[];
  /** The step of the exchange that fails; undefined where only what the doctor sees can tell. */
  readonly step?: ExchangeStep;
}

/** What to do: a sentence, or one that a shell command completes. */
export type Action = string | { readonly text: string; readonly command: ShellCommand };

export type ShellCommand = 'doctor' | `accept-${Acceptance}`;

/** The steps in the order in which an exchange takes them. */
export const EXCHANGE_STEPS = ['token', 'address', 'TLS', 'status', 'content', 'list', 'entries'] as const;

export type ExchangeStep = (typeof EXCHANGE_STEPS)[number];

export const RETRIES =
  'The next attempt is made automatically, at the time that is shown. POST /refresh makes one now.';
const withDoctor = (text: string): Action => ({ text, command: 'doctor' });
const RUN_DOCTOR = withDoctor('The doctor makes one request to the provider and reports each step:');

export const FAILURE_KINDS: Readonly<Record<LoadErrorKind, FailureKind>> = {
  unreachable: {
    summary:
      'The provider cannot be reached. It is down, or something in between is: DNS, network, proxy or TLS.',
    actions: [RETRIES, RUN_DOCTOR],
  },
  proxy_unreachable: {
    summary:
      'The proxy in HTTPS_PROXY or HTTP_PROXY cannot be reached, or does not answer: its address is wrong, it is down, or a firewall is in between. The provider was not asked.',
    actions: [
      'Check HTTPS_PROXY or HTTP_PROXY; if this host needs no proxy, add it to NO_PROXY.',
      'Tell the people who run the proxy.',
      RETRIES,
      RUN_DOCTOR,
    ],
    step: 'address',
  },
  proxy_refused: {
    summary:
      'The proxy in HTTPS_PROXY or HTTP_PROXY does not accept the user and password, or does not allow the provider’s host or port. The provider was not asked.',
    actions: [
      'Check the user and password in HTTPS_PROXY or HTTP_PROXY; a change needs a restart.',
      'Then ask who runs the proxy to allow this host.',
      RUN_DOCTOR,
    ],
    step: 'address',
  },
  timeout: {
    summary: 'The provider does not send a complete answer within PROVIDER_TIMEOUT.',
    actions: [RETRIES, 'If the provider is merely slow, raise PROVIDER_TIMEOUT.', RUN_DOCTOR],
  },
  rate_limited: {
    summary:
      'The provider got too many requests, perhaps also from another program with the same credentials.',
    actions: [
      'Nothing at first: the service waits for as long as the provider asks, but without a list to serve for at most 1 min.',
      'If it lasts, find out who else uses the credentials, or raise CACHE_TTL.',
    ],
    step: 'status',
  },
  unavailable: {
    summary: 'The provider, or a gateway in front of it, has an internal failure.',
    actions: ['Tell the provider. Nothing on this side appears to be wrong.', RETRIES],
    step: 'status',
  },
  unauthorized: {
    summary: 'The provider rejects the access token.',
    actions: [
      'Install a valid token. A token file is read again automatically; a changed environment variable needs a restart.',
      RUN_DOCTOR,
    ],
  },
  no_token: {
    summary: 'There is no access token: the token file is unusable, or the token endpoint issues none.',
    actions: [
      'Check the token file, or the token endpoint’s address and the client credentials.',
      RUN_DOCTOR,
    ],
  },
  unexpected_status: {
    summary: 'The provider answers with a status other than 200, such as 403, 404 or a redirect.',
    actions: ['Check the base address, and the rights that these credentials have.', RUN_DOCTOR],
  },
  malformed: {
    summary: 'The provider’s answer is not valid JSON. Often it is the error page of something in between.',
    actions: [RUN_DOCTOR, 'If the answer is the provider’s own, tell the provider.'],
  },
  not_a_list: {
    summary: 'The provider’s answer is JSON, but not a list. Its format may have changed.',
    actions: [RUN_DOCTOR, 'Ask the provider whether the change is intended.'],
  },
  too_large: {
    summary:
      'The provider’s answer is larger than PROVIDER_MAX_BODY allows after decompression, or has more than 50,000 entries, or one above 64 KiB.',
    actions: [
      'See under “Details” which it is, and ask the provider whether that is correct. If it is, raise PROVIDER_MAX_BODY (up to 256mb); the other limits are fixed.',
    ],
    step: 'content',
  },
  too_few: {
    summary:
      'The provider’s list is empty for this client, or shorter than GUARD_MIN_BANKS expects, so it was refused.',
    actions: [
      'Ask the provider whether this client may see the banks. If so few are right, lower GUARD_MIN_BANKS.',
    ],
    step: 'entries',
  },
  unusable_entries: {
    summary:
      'More of the provider’s entries are unusable than GUARD_MAX_SHRINK allows, so the list was refused.',
    actions: [
      withDoctor('Compare BANK_FIELDS and BANK_REQUIRED_FIELDS with the fields that the doctor finds:'),
    ],
    step: 'entries',
  },
  missing_field: {
    summary:
      'A name in BANK_FIELDS is wrong, or the provider has renamed the field: no entry has it, and no list is cached. The list was refused.',
    actions: [
      withDoctor('Compare BANK_FIELDS with the fields that the doctor finds:'),
      'Correct the name. If the field may really be missing, write ? after it in BANK_FIELDS. Then restart this service.',
    ],
    step: 'entries',
  },
  shrunk: {
    summary: 'The provider’s list lost more banks than GUARD_MAX_SHRINK allows, so it was refused.',
    actions: [
      'Ask the provider whether that many banks are really gone.',
      { text: 'If they are, accept this one list:', command: 'accept-shrunk' },
    ],
    step: 'entries',
  },
  drifted: {
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
  internal: {
    summary: 'An unexpected error in this service: a defect.',
    actions: ['Report it with the log from the time of the first failure.', RETRIES],
  },
};
