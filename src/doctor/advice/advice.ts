import type { LoadError, LoadErrorKind } from '../../banks/load-error.ts';
import { adviseOnConnection, adviseOnTimeout, PROXY_REFUSED, PROXY_UNREACHABLE } from './connection.ts';
import { adviseOnContent, adviseOnNoList } from './content.ts';
import { adviseOnEntries, MISSING_FIELD } from './entries.ts';
import { baseUrlVariable, type Advice, type Evidence } from './evidence.ts';
import { adviseOnStatus } from './status.ts';
import { adviseOnToken, NEXT_FOR_REJECTED_TOKEN } from './token.ts';

// Why an exchange failed and what to do about it: one table over the kinds of failure, and one file for each group of
// steps. Pure, and in words of its own: of the provider's text only names of fields and members are shown.

/** The failed step, its likely cause and what to do, as far as they can be known from outside. */
export const advise = (error: LoadError, evidence: Evidence): Advice =>
  evidence.observation.tokenAfterMs === undefined
    ? adviseOnToken(error, evidence)
    : BY_KIND[error.kind](evidence, error);

const BY_KIND: Readonly<Record<LoadErrorKind, (evidence: Evidence, error: LoadError) => Advice>> = {
  unreachable: ({ config, observation }) =>
    adviseOnConnection(observation.provider, {
      url: config.provider.baseUrl,
      variable: baseUrlVariable(config),
    }),
  proxy_unreachable: () => PROXY_UNREACHABLE,
  proxy_refused: () => PROXY_REFUSED,
  timeout: ({ observation }) => adviseOnTimeout(observation.provider),
  rate_limited: () => ({
    step: 'status',
    likely: 'the provider got too many requests, perhaps also from another program with the same token',
    next: 'wait as long as the provider asks and run this again; the service waits by itself',
  }),
  unavailable: () => ({
    step: 'status',
    likely: 'the provider, or a gateway in front of it, has an internal failure',
    next: 'try again later, or ask the provider; nothing on this side appears to be wrong',
  }),
  unauthorized: ({ config }) => ({
    step: 'status',
    likely: `the token is wrong, has expired, or belongs to another environment than ${config.provider.environment}`,
    next: NEXT_FOR_REJECTED_TOKEN[config.provider.token.kind],
  }),
  no_token: (evidence, error) => adviseOnToken(error, evidence),
  unexpected_status: adviseOnStatus,
  malformed: adviseOnContent,
  not_a_list: adviseOnNoList,
  too_large: () => ({
    step: 'content',
    likely: 'the list is larger than PROVIDER_MAX_BODY allows after decompression, or it is not a list',
    next: 'raise PROVIDER_MAX_BODY (up to 256mb) and run this again to see what it is',
  }),
  too_few: () => ({
    step: 'entries',
    likely: 'the list is empty for this client, or shorter than GUARD_MIN_BANKS expects',
    next: 'ask the provider whether this client may see the banks; lower GUARD_MIN_BANKS if so few are right',
  }),
  unusable_entries: adviseOnEntries,
  missing_field: () => MISSING_FIELD,
  // The doctor has no cached list to compare with.
  shrunk: () => DEFECT,
  drifted: () => DEFECT,
  internal: () => DEFECT,
};

const DEFECT: Advice = {
  step: 'list',
  likely: 'a defect of this program',
  next: 'report it with this output, which contains no secret',
};
