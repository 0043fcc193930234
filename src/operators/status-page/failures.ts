import type { LoadErrorKind } from '../../banks/load-error.ts';
import type { CommandName } from './commands.ts';

// What each kind of failed load means, and what to do about it, for somebody who has just been woken.

export interface FailureAdvice {
  readonly summary: string;
  readonly actions: readonly Action[];
  /** The provider sent a list, and the guard refused it. */
  readonly isRefusedList?: true;
}

export interface Action {
  readonly text: string;
  readonly command?: CommandName;
}

const RETRIES: Action = { text: 'Retries continue automatically. Restarting this service does not help.' };
const DOCTOR: Action = {
  text: 'The doctor makes one request to the provider and reports each step:',
  command: 'doctor',
};

export const FAILURE_ADVICE: Readonly<Record<LoadErrorKind, FailureAdvice>> = {
  unreachable: {
    summary:
      'The provider cannot be reached. It is down, or something in between is: DNS, network, proxy or TLS.',
    actions: [RETRIES, DOCTOR],
  },
  proxy_unreachable: {
    summary:
      'The proxy in HTTPS_PROXY or HTTP_PROXY cannot be reached, or does not answer. The provider was not asked.',
    actions: [{ text: 'Check the proxy’s address, and tell the people who run it.' }, RETRIES, DOCTOR],
  },
  proxy_refused: {
    summary: 'The proxy in HTTPS_PROXY or HTTP_PROXY refuses our requests. The provider was not asked.',
    actions: [
      { text: 'Check the user and password in the proxy’s address; a change needs a restart.' },
      { text: 'Ask the people who run the proxy to allow connections to the provider.' },
      DOCTOR,
    ],
  },
  timeout: {
    summary: 'The provider does not send a complete answer within PROVIDER_TIMEOUT.',
    actions: [RETRIES, { text: 'If the provider is merely slow, raise PROVIDER_TIMEOUT.' }, DOCTOR],
  },
  rate_limited: {
    summary: 'The provider is limiting our request rate.',
    actions: [
      { text: 'Nothing at first: the service waits for as long as the provider asks.' },
      { text: 'If it lasts, find out who else uses these credentials, or raise CACHE_TTL.' },
    ],
  },
  unavailable: {
    summary: 'The provider answers with a server error.',
    actions: [{ text: 'Tell the provider.' }, RETRIES],
  },
  unauthorized: {
    summary: 'The provider rejects the access token.',
    actions: [
      {
        text: 'Install a valid token. A token file is read again automatically; a changed environment variable needs a restart.',
      },
      DOCTOR,
    ],
  },
  no_token: {
    summary: 'There is no access token: the token file is unusable, or the token endpoint issues none.',
    actions: [
      { text: 'Check the token file, or the token endpoint’s address and the client credentials.' },
      DOCTOR,
    ],
  },
  unexpected_status: {
    summary: 'The provider answers with a status other than 200, such as 403, 404 or a redirect.',
    actions: [{ text: 'Check the base address, and the rights that these credentials have.' }, DOCTOR],
  },
  malformed: {
    summary: 'The provider’s answer is not valid JSON. Often it is the error page of something in between.',
    actions: [DOCTOR, { text: 'If the answer is the provider’s own, tell the provider.' }],
  },
  not_a_list: {
    summary: 'The provider’s answer is JSON, but not a list. Its format may have changed.',
    actions: [DOCTOR, { text: 'Ask the provider whether the change is intended.' }],
  },
  too_large: {
    summary: 'The provider’s answer is larger than PROVIDER_MAX_BODY.',
    actions: [{ text: 'Ask the provider whether that is correct. If it is, raise PROVIDER_MAX_BODY.' }],
  },
  too_few: {
    summary: 'The provider’s list has fewer banks than GUARD_MIN_BANKS, so it was refused.',
    actions: [{ text: 'Ask the provider whether that is correct. If it is, lower GUARD_MIN_BANKS.' }],
    isRefusedList: true,
  },
  unusable_entries: {
    summary:
      'More of the provider’s entries are unusable than GUARD_MAX_SHRINK allows, so the list was refused.',
    actions: [
      {
        text: 'Compare BANK_FIELDS and BANK_REQUIRED_FIELDS with the fields that the doctor finds:',
        command: 'doctor',
      },
    ],
    isRefusedList: true,
  },
  missing_field: {
    summary:
      'No entry of the provider’s list has a field that BANK_FIELDS promises, and no list is cached. The list was refused.',
    actions: [
      { text: 'Compare BANK_FIELDS with the fields that the doctor finds:', command: 'doctor' },
      {
        text: 'Correct the name. If the field may really be missing, write ? after it in BANK_FIELDS. Then restart this service.',
      },
    ],
    isRefusedList: true,
  },
  shrunk: {
    summary: 'The provider’s list lost more banks than GUARD_MAX_SHRINK allows, so it was refused.',
    actions: [
      { text: 'Ask the provider whether that many banks are really gone.' },
      { text: 'If they are, accept this one list:', command: 'accept-shrunk' },
    ],
    isRefusedList: true,
  },
  drifted: {
    summary:
      'More of the provider’s entries lost a published field, or changed its JSON type, than GUARD_MAX_DRIFT allows, so the list was refused.',
    actions: [
      {
        text: 'See under “Details” which fields changed, and compare BANK_FIELDS with the fields that the doctor finds:',
        command: 'doctor',
      },
      {
        text: 'If a field was renamed, give BANK_FIELDS its new name, such as name:newName, and restart this service.',
      },
      {
        text: 'If the new list is right as it is, and your frontends can read it, accept this one list:',
        command: 'accept-drifted',
      },
    ],
    isRefusedList: true,
  },
  internal: {
    summary: 'An unexpected error in this service: a defect.',
    actions: [{ text: 'Report the service’s log from the time of the first failure.' }, RETRIES],
  },
};
