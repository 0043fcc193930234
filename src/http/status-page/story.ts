import type { ListStatus } from '../../banks/bank-list.ts';
import type { FreshnessPolicy } from '../../banks/freshness.ts';
import type { LoadErrorKind } from '../../banks/load-error.ts';

// What the list's status means, in words for somebody who has just been woken: what users get, why, and what to do.
// Pure; it knows no HTML.

export interface Story {
  readonly tone: 'good' | 'attention' | 'bad';
  readonly headline: string;
  /** What it means for users. */
  readonly meaning: string;
  /** What is wrong now; undefined when nothing is. */
  readonly cause: string | undefined;
  readonly todo: readonly Step[];
}

export interface Step {
  readonly text: string;
  /** To be typed as it stands. */
  readonly command?: string;
}

export interface Facts {
  readonly status: ListStatus;
  readonly policy: FreshnessPolicy;
  readonly isDraining: boolean;
}

export const tellStory = ({ status, policy, isDraining }: Facts): Story => {
  const story = storyOf(status, policy);
  if (!isDraining) return story;
  return {
    ...story,
    tone: 'attention',
    headline: 'This instance is shutting down.',
    meaning: `It answers what has arrived and takes nothing new. ${story.meaning}`,
  };
};

const storyOf = (status: ListStatus, policy: FreshnessPolicy): Story => {
  const { state, failure, held, ageMs = 0 } = status;
  const known = failure && FAILURES[failure.kind];
  const cause = known?.what;
  const todo = known?.todo ?? [];
  switch (state) {
    case 'empty':
      if (!failure) return WAITING;
      return {
        tone: 'bad',
        headline: 'Users get errors: there is no list yet.',
        meaning:
          'No list has arrived since the start, and none was kept from before. /banks answers with an error.',
        cause,
        todo,
      };
    case 'expired':
      return {
        tone: 'bad',
        headline: 'Users get errors: the list is too old.',
        meaning: `The held list is ${sayDuration(ageMs)} old. From ${sayDuration(policy.ttlMs + policy.maxStaleMs)} on (CACHE_TTL and CACHE_MAX_STALE) it is not served; /banks answers with an error.`,
        cause,
        todo,
      };
    case 'stale':
      return {
        tone: 'attention',
        headline: 'Users get an old list.',
        meaning: `Every request is answered, with what the provider sent ${sayDuration(ageMs)} ago. That goes on for ${sayDuration(policy.ttlMs + policy.maxStaleMs - ageMs)} more; then users get errors.`,
        cause: cause ?? 'The renewal is late.',
        todo,
      };
    case 'fresh':
      break;
  }
  if (known) {
    return {
      tone: 'attention',
      headline: known.refused
        ? 'Users get the list from before: a new one was refused.'
        : 'Users get a current list, but its renewal fails.',
      meaning: `Every request is answered. The held list counts as current for ${sayDuration(policy.ttlMs - ageMs)} more, and is served as an old one for ${sayDuration(policy.maxStaleMs)} after that.`,
      cause,
      todo,
    };
  }
  const heldBack = held?.heldBack ?? 0;
  if (heldBack > 0) {
    const entries = heldBack === 1 ? 'one entry' : `${heldBack} entries`;
    return {
      tone: 'attention',
      headline: `Users get the current list, without ${entries}.`,
      meaning: 'Every request is answered. A user who looks for one of the missing banks does not find it.',
      cause: `The provider sent ${entries} that cannot be published: no object, or without a field of BANK_REQUIRED_FIELDS.`,
      todo: [{ text: 'Tell the provider. The entries are back with the next list in which they are whole.' }],
    };
  }
  return {
    tone: 'good',
    headline: 'Users get the current list.',
    meaning: 'Every request is answered at once, and renewals work.',
    cause: undefined,
    todo: [],
  };
};

const WAITING: Story = {
  tone: 'attention',
  headline: 'The first list is on its way.',
  meaning: 'Requests for /banks wait for it, at most for PROVIDER_TIMEOUT.',
  cause: undefined,
  todo: [{ text: 'Nothing yet; this page tells when it is here.' }],
};

interface Failure {
  readonly what: string;
  readonly todo: readonly Step[];
  /** A whole list came, but this service does not believe it. */
  readonly refused?: true;
}

const RETRIES: Step = { text: 'Retries go on by themselves. Restarting this service does not help.' };
const DOCTOR: Step = { text: 'See what the provider answers, step by step:', command: 'npm run doctor' };

const FAILURES: Readonly<Record<LoadErrorKind, Failure>> = {
  unreachable: {
    what: 'No connection to the provider: it is down, or the way to it is (DNS, network, TLS).',
    todo: [DOCTOR, RETRIES],
  },
  timeout: {
    what: 'The provider does not answer completely in time.',
    todo: [RETRIES, { text: 'If it is only slow, give it longer with PROVIDER_TIMEOUT.' }],
  },
  rate_limited: {
    what: 'The provider limits our rate (429).',
    todo: [
      { text: 'Nothing at first: the pause that the provider asks for is kept.' },
      { text: 'If it lasts, look for who else uses these credentials, or raise CACHE_TTL.' },
    ],
  },
  unavailable: {
    what: 'The provider answers with an error of its own (5xx).',
    todo: [{ text: 'Tell the provider.' }, RETRIES],
  },
  unauthorized: {
    what: 'The provider does not accept the access token (401).',
    todo: [
      {
        text: 'Put a valid token in place. A token file is read again by itself; a changed variable needs a restart.',
      },
      DOCTOR,
    ],
  },
  no_token: {
    what: 'There is no access token to send: its file or the token endpoint gives none.',
    todo: [{ text: 'Check the token file, or the token endpoint and the client’s credentials.' }, DOCTOR],
  },
  unexpected_status: {
    what: 'The provider answers, but with a status that brings no list, such as 403, 404 or a redirect.',
    todo: [{ text: 'Check the base address, and what these credentials may do.' }, DOCTOR],
  },
  malformed: {
    what: 'The provider’s answer is not readable JSON. Often it is the error page of something in between.',
    todo: [DOCTOR, { text: 'Tell the provider if the answer is its own.' }],
  },
  not_a_list: {
    what: 'The provider’s answer is JSON, but not a list. Its format may have changed.',
    todo: [DOCTOR, { text: 'Ask the provider whether that is meant.' }],
  },
  too_large: {
    what: 'The provider’s answer is larger than PROVIDER_MAX_BODY.',
    todo: [{ text: 'Ask the provider whether that is right; if it is, raise PROVIDER_MAX_BODY.' }],
  },
  too_few: {
    what: 'The provider sent a list with fewer banks than GUARD_MIN_BANKS, so it was not taken.',
    todo: [{ text: 'Ask the provider whether that is right; if it is, lower GUARD_MIN_BANKS.' }],
    refused: true,
  },
  unusable_entries: {
    what: 'The provider sent a list with too many unusable entries (GUARD_MAX_SHRINK), so it was not taken.',
    todo: [
      { text: 'Check BANK_FIELDS and BANK_REQUIRED_FIELDS against what comes:', command: 'npm run doctor' },
    ],
    refused: true,
  },
  shrunk: {
    what: 'The provider sent a list that lost too many banks at once (GUARD_MAX_SHRINK), so it was not taken.',
    todo: [
      { text: 'Ask the provider whether so many banks are really gone.' },
      {
        text: 'If they are, accept the list once, on this listener:',
        command:
          'curl -X POST -H "Authorization: Bearer $MANAGEMENT_TOKEN" "$OPERATORS_URL/refresh?accept=shrunk"',
      },
    ],
    refused: true,
  },
  internal: {
    what: 'This service failed in a way that it did not foresee: a defect.',
    todo: [{ text: 'Look for “list: the load failed” in the log, and report what it says.' }, RETRIES],
  },
};

/** What a failure of this kind is, in one sentence. */
export const sayFailure = (kind: LoadErrorKind): string => FAILURES[kind].what;

/** A time span as people say it: the two largest units that matter. */
export const sayDuration = (ms: number): string => {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  const days = Math.floor(hours / 24);
  return hours % 24 === 0 ? `${days} d` : `${days} d ${hours % 24} h`;
};
