import { isUtf8 } from 'node:buffer';
import type { LoadError, LoadErrorKind } from '../banks/load-error.ts';
import type { Config } from '../config/config.ts';
import type { VariableName } from '../config/variables.ts';
import { EXCHANGE_STEPS, FAILURE_KINDS, RETRIES, type ExchangeStep } from '../failure-kinds.ts';
import { banksUrl } from '../provider/exchange.ts';
import type { MissingField } from './bank-fields.ts';
import type { Contact, Observation } from './observe.ts';
import { findLists, signOfPages, type Survey } from './survey.ts';
import { fillIn, findRow, SYMPTOMS } from './symptoms.ts';
import { ms, percentFilled } from './units.ts';

// Why an exchange failed and what to do about it: the symptom that it shows, looked up in the table of symptoms, or else the
// advice of the kind of failure. Pure, and in words of its own: of the provider's text only names of fields and members
// are shown.

/** Everything that is known about an exchange. */
export interface Evidence {
  readonly config: Config;
  readonly observation: Observation;
  /** The value that was answered with status 200; undefined if it was not JSON. */
  readonly json: unknown;
  readonly survey: Survey;
  /** The fields of BANK_FIELDS that no entry has. */
  readonly missing: readonly MissingField[];
}

export interface Advice {
  readonly step: ExchangeStep;
  /** The likely cause. */
  readonly likely: string;
  /** What to do next. */
  readonly next: string;
}

/** One of the two addresses that are asked, and what was seen of it. */
interface Endpoint {
  readonly url: URL;
  /** The variable that holds the address. */
  readonly variable: VariableName;
  readonly contact: Contact;
}

/** The failed step, its likely cause and what to do, as far as they can be known from outside. */
export const advise = ({ kind }: LoadError, evidence: Evidence): Advice => {
  const { token, baseUrl } = evidence.config.provider;
  const { tokenEndpoint, provider, tokenAfterMs } = evidence.observation;
  const isAboutToken = tokenAfterMs === undefined || kind === 'no_token';
  const endpoint: Endpoint =
    isAboutToken && token.kind === 'client-credentials'
      ? { url: token.url, variable: 'PROVIDER_TOKEN_URL', contact: tokenEndpoint }
      : { url: baseUrl, variable: baseUrlVariable(evidence.config), contact: provider };
  const symptom = isAboutToken
    ? symptomOfToken(kind, endpoint, evidence)
    : (symptomOfContact(kind, endpoint, evidence) ?? SYMPTOM_OF_ANSWER[kind]?.(evidence));
  const { step, likely, next } = (symptom && findRow(SYMPTOMS, symptom)) || adviceOnKind(kind);
  const words = wordsFor(endpoint, evidence);
  const isStep = (name: string): boolean => name === (isAboutToken ? 'token' : step);
  return {
    step: EXCHANGE_STEPS.find(isStep) ?? 'list',
    likely: fillIn(likely, words),
    next: fillIn(next, words),
  };
};

/** What everybody is told about the kind, without what concerns a running service. */
const adviceOnKind = (kind: LoadErrorKind): Advice => {
  const { step = 'list', summary, actions } = FAILURE_KINDS[kind];
  const next = actions.filter((action) => typeof action === 'string').filter((text) => text !== RETRIES);
  return { step, likely: toClause(summary), next: toClause(next.join(' ')) };
};

/** A sentence as the steps are written: in lower case and without its full stop. */
const toClause = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1).replace(/\.$/, '');

/** What stands for the words in braces. */
const wordsFor = ({ url, variable, contact }: Endpoint, evidence: Evidence) => ({
  variable: () => variable,
  host: () => url.host,
  hostname: () => url.hostname,
  port: () => url.port || (url.protocol === 'https:' ? '443' : '80'),
  banksUrl: () => banksUrl(url).href,
  headAfter: () => ms(contact.head?.afterMs ?? 0),
  environment: () => evidence.config.provider.environment,
  timeout: () => ms(evidence.config.provider.timeoutMs),
  members: () => {
    const { observation, json } = evidence;
    return [findLists(json).join(' or '), signOfPages(observation.answer?.link, json)]
      .filter(Boolean)
      .join('; ');
  },
  hints: () => entryHints(evidence).join('; ') || 'the entries have nothing in the published fields',
});

const symptomOfToken = (kind: LoadErrorKind, endpoint: Endpoint, evidence: Evidence): string | undefined => {
  if (evidence.config.provider.token.kind !== 'client-credentials') return 'unusable file';
  // The proxy's failures are explained by their kind.
  if (kind === 'proxy_unreachable' || kind === 'proxy_refused') return undefined;
  const noAnswer = symptomOfContact(kind, endpoint, evidence);
  if (noAnswer !== undefined) return noAnswer;
  const status = endpoint.contact.head?.status;
  if (status === 400 || status === 401) return 'client rejected';
  return kind === 'rate_limited' || kind === 'unavailable' ? 'endpoint failed' : 'not a token endpoint';
};

/** Less than a connection with TLS around the world may take. */
const SHORT_TIMEOUT_MS = 1_000;

/** Why there is no connection or no complete answer; undefined where that is not what failed. */
const symptomOfContact = (
  kind: LoadErrorKind,
  { contact, url }: Endpoint,
  { config }: Evidence,
): string | undefined => {
  const { timeoutMs } = config.provider;
  const { connection, head, connectError, lostBy } = contact;
  if (kind === 'timeout') {
    if (!connection)
      return timeoutMs < SHORT_TIMEOUT_MS ? 'connecting timed out early' : 'connecting timed out';
    return head ? 'not complete in time' : 'no answer in time';
  }
  if (kind !== 'unreachable') return undefined;
  // The server refuses the client by a TLS alert: in TLS 1.3 once the connection is open.
  const [, alert] = /_(ALERT_\w+)$/.exec((connection ? lostBy : connectError) ?? '') ?? [];
  const scheme = url.protocol === 'https:' ? 'https' : 'http';
  const seen = [alert, connection ? `closed over ${scheme}` : connectError];
  const known = seen.find((symptom) => symptom !== undefined && findRow(SYMPTOMS, symptom));
  return known ?? (scheme === 'https' ? 'no handshake' : 'no connection');
};

/** What is wrong with the provider's answer, where its kind alone says too little. */
const SYMPTOM_OF_ANSWER: Readonly<Partial<Record<LoadErrorKind, (evidence: Evidence) => string>>> = {
  unauthorized: ({ config }) => `401 with a ${config.provider.token.kind} token`,
  unexpected_status: ({ config, observation }) => {
    const status = observation.provider.head?.status ?? 0;
    const hasPath = /\/(api|v1|banks)(\/|$)/.test(config.provider.baseUrl.pathname);
    if (status === 404) return hasPath ? '404 with a path' : '404';
    if (status === 403) return '403';
    if (status >= 400) return 'another 4xx';
    return status >= 300 ? 'redirect' : 'another 2xx';
  },
  malformed: ({ observation: { answer, provider }, json }) => {
    if (!answer) return provider.head ? 'cut short' : 'not HTTP';
    const text = answer.body.toString('latin1').trimStart();
    if (text.startsWith('<')) return 'web page';
    if (json !== undefined) return 'wrong label';
    if (!isUtf8(answer.body)) return 'not UTF-8';
    return text === '' ? 'empty' : 'damaged';
  },
  too_large: ({ observation }) => (observation.answer ? 'beyond a fixed limit' : 'too large'),
  not_a_list: ({ json }) => (findLists(json).length > 0 ? 'in an envelope' : 'none'),
  unusable_entries: ({ survey }) => (survey.duplicates > 0 ? 'alike' : 'unusable'),
};

/** What in the configuration or in the entries explains rejected entries, or fields without a value. */
export const entryHints = ({ config, survey, missing }: Evidence): readonly string[] => [
  ...(survey.nonObjects > 0 ? [`${survey.nonObjects} entries are not JSON objects: tell the provider`] : []),
  ...(survey.duplicates > 0
    ? [`${survey.duplicates} entries have the same published content as an earlier one`]
    : []),
  ...missing.map(
    ({ field: { from, isOptional }, nearest }) =>
      `no entry has ${from}${isOptional ? '?' : ''} of BANK_FIELDS` +
      (nearest === undefined ? '' : ` (the provider sends ${nearest})`),
  ),
  ...config.banks.requiredFields.flatMap((name) => {
    const from = config.banks.fields?.find((field) => field.name === name)?.from ?? name;
    const filled = survey.fields.find((field) => field.name === from)?.filled ?? 0;
    return filled < 1 ? [`BANK_REQUIRED_FIELDS names ${name}, filled in ${percentFilled(filled)}`] : [];
  }),
];

/** The variable that holds the provider's address. */
const baseUrlVariable = ({ provider }: Config): VariableName =>
  provider.environment === 'production' ? 'PROVIDER_PRODUCTION_BASE_URL' : 'PROVIDER_SANDBOX_BASE_URL';
