import { isUtf8 } from 'node:buffer';
import { isPlainName } from '../banks/field-names.ts';
import {
  LoadError,
  explainFailure,
  UNUSABLE_FILE,
  type LoadErrorKind,
} from '../banks/load-error.ts';
import type { Config } from '../config/config.ts';
import { connectionFaultOf } from '../provider/errors.ts';
import { LOAD_STEPS, RETRIES } from '../failure-kinds.ts';
import { UNUSABLE_GRANT } from '../provider/grant.ts';
import { banksUrl } from '../provider/provider.ts';
import { stepsSeen, type Contact, type Observation } from './observe.ts';
import { inWholeMs, percentFilled, type Step } from './report.ts';
import type { MissingField } from './suggestions.ts';
import { findLists, signOfPages, type Survey } from './survey.ts';
import { LOAD_SYMPTOMS, type LoadSymptom, type LoadWords } from './load-symptoms.ts';
import { toAdvice } from './symptoms.ts';
import { isAboutClient, tokenErrorOf, type TokenTrials, type Trial } from './token-trials.ts';

// Why a load failed and what to do about it: the symptom that it shows, looked up in the table
// of symptoms, or else the advice of the kind of failure. Pure, and in words of its own: of the
// provider's text only names of fields and members are shown.

/** Everything that is known about a load. */
export interface Evidence {
  readonly config: Config;
  readonly observation: Observation;
  /** The value that was answered with status 200; undefined if it was not JSON. */
  readonly json: unknown;
  /**
   * Where the list is in it: at `path`; undefined: the list is the whole value. No entries if there
   * is no list.
   */
  readonly location: { readonly path: string | undefined; readonly entries: readonly unknown[] };
  readonly survey: Survey;
  /** The fields of BANK_FIELDS that no entry has. */
  readonly missing: readonly MissingField[];
  readonly trials: TokenTrials;
}

/** One of the two addresses that are asked, and what was seen of it. */
interface Endpoint {
  readonly url: URL;
  /** The variable that holds the address. */
  readonly variable: string;
  readonly contact: Contact | undefined;
}

/** The failed step, its likely cause and what to do, as far as they can be known from outside. */
export const advise = (error: LoadError, evidence: Evidence): Step => {
  const { token, baseUrl, environment } = evidence.config.provider;
  const { contacts } = evidence.observation;
  const isAboutToken = !contacts['the provider'] || error.kind === 'no_token';
  const endpoint: Endpoint =
    isAboutToken && token.kind === 'client-credentials'
      ? {
          url: token.endpoint.url,
          variable: 'PROVIDER_TOKEN_URL',
          contact: contacts['the token endpoint'],
        }
      : {
          url: baseUrl,
          variable: `PROVIDER_${environment.toUpperCase()}_BASE_URL`,
          contact: contacts['the provider'],
        };
  const symptom = symptomOf(error, evidence, endpoint);
  const row = symptom && rowOf(symptom);
  const advice = row
    ? { name: row.name, ...toAdvice(row, wordsFor(endpoint, evidence)) }
    : generalAdvice(error, evidence.observation);
  return {
    ...advice,
    // Whatever fails between here and the token endpoint, its TLS handshake too.
    ...(isAboutToken && { name: 'token' }),
    result: 'FAIL',
    message: error.message,
  };
};

const ROWS = LOAD_STEPS.flatMap((name) => LOAD_SYMPTOMS[name].map((row) => ({ name, ...row })));

const rowOf = (symptom: string) =>
  ROWS.find(({ symptoms }) => symptoms.some((each) => each === symptom));

/** Whether a code is one of those in the table. */
const isSymptom = (code: string): code is LoadSymptom => rowOf(code) !== undefined;

/** The advice on this kind of failure, without retries and shell commands. */
const generalAdvice = (error: LoadError, observation: Observation) => {
  const seen = stepsSeen(observation);
  const next = LOAD_STEPS.find((step) => !seen.includes(step)) ?? 'list';
  const { step: name = next, summary, actions } = explainFailure(error);
  const texts = actions
    .filter((action) => typeof action === 'string')
    .filter((text) => text !== RETRIES);
  return { name, likely: toClause(summary), next: toClause(texts.join(' ')) };
};

/** A sentence as the steps are written: in lower case and without its full stop. */
const toClause = (text: string): string =>
  text.charAt(0).toLowerCase() + text.slice(1).replace(/\.$/, '');

const wordsFor = ({ url, variable, contact }: Endpoint, evidence: Evidence): LoadWords => {
  const { config, observation, json, location, trials } = evidence;
  const { environment, timeoutMs } = config.provider;
  const members = [
    findLists(json).join(' or '),
    signOfPages(observation.response?.headers['link'], json),
  ];
  return {
    variable,
    hostname: url.hostname,
    host: `${url.hostname}:${url.port || (url.protocol === 'https:' ? '443' : '80')}`,
    banksUrl: banksUrl(url).href,
    headAfter: inWholeMs(contact?.head?.afterMs ?? 0),
    environment,
    timeout: inWholeMs(timeoutMs),
    tokenVariable: observation.tokenVariable,
    members: members.filter(Boolean).join('; '),
    listPath: config.banks.listPath ?? '',
    listLine: location.path === undefined ? 'unset BANK_LIST' : `set BANK_LIST=${location.path}`,
    tried: trials.tried.length === 0 ? '' : `; tried ${trials.tried.join(', ')}`,
    lines: trials.working?.lines.join(' and ') ?? '',
    hints: entryHints(evidence).join('; ') || 'the entries have nothing in the published fields',
  };
};

/** More would make an unreadable line. */
const MAX_PATHS = 8;

/** Less than a connection with TLS around the world may take. */
const SHORT_TIMEOUT_MS = 1_000;

/** The symptom that was seen, if the kind of the failure alone says too little. */
const symptomOf = (
  error: LoadError,
  evidence: Evidence,
  endpoint: Endpoint,
): LoadSymptom | undefined =>
  error.reasonCode === UNUSABLE_FILE
    ? undefined
    : FIND_SYMPTOM[error.kind]?.(evidence, endpoint, error.reasonCode ?? '');

type FindSymptom = (
  evidence: Evidence,
  endpoint: Endpoint,
  reasonCode: string,
) => LoadSymptom | undefined;

/** Find the symptom in the evidence. A LoadSymptom is shown only if one of these returns it. */
const FIND_SYMPTOM: Readonly<Partial<Record<LoadErrorKind, FindSymptom>>> = {
  timeout: ({ config }, { contact }) => {
    if (contact?.connection) return contact.head ? 'not complete in time' : 'no response in time';
    const isShort = config.provider.timeoutMs < SHORT_TIMEOUT_MS;
    return isShort ? 'connecting timed out early' : 'connecting timed out';
  },
  unreachable: (_evidence, { contact, url }, reasonCode) => {
    const fault = connectionFaultOf(reasonCode);
    // The server refuses the client by a TLS alert: in TLS 1.3 once the connection is open.
    if (contact?.connection) return reasonCode.includes('_ALERT_') && fault ? fault : 'closed';
    if (fault) return fault;
    if (isSymptom(reasonCode)) return reasonCode;
    return url.protocol === 'https:' && isOfTls(reasonCode) ? 'no handshake' : 'no connection';
  },
  no_token: ({ observation, trials }, _endpoint, reasonCode) =>
    trials.working ? symptomOfTrial(trials.working) : symptomOfTokenError(observation, reasonCode),
  unauthorized: ({ config }) =>
    config.provider.token.kind === 'client-credentials' ? '401 with a granted token' : '401',
  unexpected_status: (_evidence, { contact }) => {
    const status = contact?.head?.status ?? 0;
    if (status === 403 || status === 404) return `${status}`;
    return status >= 300 && status < 400 ? 'redirect' : 'other status';
  },
  rate_limited: () => 'rate limited',
  echoed_secret: () => 'secret in the list',
  malformed: ({ observation: { response } }, { contact }, reasonCode) => {
    if (reasonCode === 'UND_ERR_HEADERS_OVERFLOW') return 'large head';
    if (!response) return contact?.head ? 'cut short' : 'not HTTP';
    if (response.body.toString('latin1').trimStart().startsWith('<')) return 'web page';
    return isUtf8(response.body) ? 'damaged' : 'not UTF-8';
  },
  too_large: ({ observation }) => (observation.response ? 'beyond a fixed limit' : 'too large'),
  not_a_list: ({ config, location }) => {
    if (location.entries.length === 0) return 'no list';
    return config.banks.listPath === undefined ? 'in an envelope' : 'elsewhere';
  },
  unusable_entries: (evidence) => {
    const { survey } = evidence;
    if (survey.nestedFields.length > 0) return 'objects';
    if (survey.nonObjects === survey.entries) return 'no objects';
    // Nothing in the configuration explains it.
    if (survey.nonObjects > 0 && entryHints(evidence).length === 1) return 'too few objects';
    return survey.duplicates > 0 ? 'alike' : 'unusable';
  },
};

/**
 * Whether a code may come from a TLS handshake. Codes of the system do not, except those for its
 * end.
 */
const isOfTls = (code: string): boolean =>
  code !== '' && (!/^E[A-Z\d]+$/.test(code) || /^(?:EPROTO|ECONNRESET|EPIPE)$/.test(code));

/** What a load with other settings proved. */
const symptomOfTrial = ({ lines }: Trial): LoadSymptom =>
  lines.some((line) => line.startsWith('PROVIDER_TOKEN_AUTH'))
    ? 'wrong authentication'
    : 'wrong format';

/** Why there is no grant, as far as the response says. */
const symptomOfTokenError = (
  observation: Observation,
  reasonCode: string,
): LoadSymptom | undefined => {
  const error = tokenErrorOf(observation);
  const status = error?.status ?? 0;
  if (error && isAboutClient(error)) return 'client rejected';
  if (error?.code !== undefined) return isSymptom(error.code) ? error.code : undefined;
  if (status === 404 || status === 405 || (status >= 300 && status < 400))
    return 'not a token endpoint';
  if (status === 403 || status === 415) return `token ${status}`;
  if (reasonCode === UNUSABLE_GRANT)
    return observation.outcome instanceof LoadError &&
      observation.outcome.message.includes('not a JSON object')
      ? 'not a token endpoint'
      : 'unusable grant';
  return status === 400 || status === 422 ? 'invalid_request' : 'unexpected status';
};

/**
 * What in the configuration or in the entries explains rejected entries or fields without values.
 */
export const entryHints = ({ config, survey, missing }: Evidence): readonly string[] => [
  ...(survey.nonObjects > 0
    ? [`${survey.nonObjects} entries are not JSON objects: tell the provider`]
    : []),
  ...(survey.duplicates > 0
    ? [`${survey.duplicates} entries have the same published content as an earlier one`]
    : []),
  ...missing.map(
    ({ field: { from, isOptional }, nearest }) =>
      `no entry has ${from}${isOptional ? '?' : ''} of BANK_FIELDS` +
      (nearest === undefined ? '' : ` (the provider sends ${nearest})`),
  ),
  ...survey.nestedFields.map(
    ({ field: { from }, inside }) =>
      `${from} of BANK_FIELDS is an object, or a list of objects` +
      (inside.length === 0
        ? ''
        : `: it has ${inside.filter(isPlainName).slice(0, MAX_PATHS).join(', ')}`),
  ),
  ...config.banks.requiredFields.flatMap((name) => {
    const from = config.banks.fields?.find((field) => field.name === name)?.from ?? name;
    const filled = survey.fields.find((field) => field.name === from)?.filled ?? 0;
    return filled < 1
      ? [`BANK_REQUIRED_FIELDS names ${name}, filled in ${percentFilled(filled)}`]
      : [];
  }),
];
