import { LoadError } from '../banks/load-error.ts';
import { countRejected, valueAt } from '../banks/reading/entry.ts';
import type { Config } from '../config/config.ts';
import { LOAD_STEPS, type LoadStep } from '../failure-kinds.ts';
import { isJsonObject } from '../json.ts';
import { advise, entryHints, type Evidence } from './advice.ts';
import { stepsSeen, type Observation } from './observe.ts';
import { namesNextPage } from '../provider/provider.ts';
import { formatBytes, inWholeMs, renderFields, renderStep, type Step } from './report.ts';
import { findMissing, suggestLines } from './suggestions.ts';
import { findLists, signOfPages, surveyEntries } from './survey.ts';
import type { TokenTrials } from './token-trials.ts';

// What the load showed, step by step in words, up to the first failure. Pure: an observation
// in, a report out.

/**
 * The report, and whether everything works.
 * @param surroundings the steps that do not concern the provider
 * @param trials other requests for a token, after the configured one was refused
 */
export const diagnose = (
  config: Config,
  observation: Observation,
  surroundings: readonly Step[],
  trials: TokenTrials,
) => {
  const { outcome } = observation;
  const load = explain(config, observation, trials);
  const { working } = trials;
  const corrected = working && explain(working.config, working.observation, NO_TRIALS);
  const clock = describeClock(observation);
  const steps: Step[] = [
    toStep('configuration', describeConfiguration(config)),
    ...load.steps,
    ...(clock ? [toStep('clock', clock)] : []),
    ...surroundings,
  ];
  const failed = steps.filter(({ result }) => result === 'FAIL').map(({ name }) => name);
  const lines = [
    ...steps.flatMap(renderStep),
    ...(working && corrected
      ? ['', `With ${working.lines.join(' and ')}:`, ...corrected.steps.flatMap(renderStep)]
      : []),
    ...(corrected ?? load).proposal,
    '',
    ...describeOutcome(outcome, failed),
    '',
  ];
  return { text: lines.join('\n'), works: failed.length === 0 };
};

const NO_TRIALS: TokenTrials = { tried: [], working: undefined };

/** The steps of one load, and the lines about the provider's fields. */
const explain = (config: Config, observation: Observation, trials: TokenTrials) => {
  const { response, outcome } = observation;
  const { fields: published, listPath } = config.banks;
  const json = response && jsonOf(response.body);
  const location = locateList(json, listPath);
  const survey = surveyEntries(location.entries, published);
  const missing = survey.entries > 0 ? findMissing(published, survey) : [];
  const evidence: Evidence = { config, observation, json, location, survey, missing, trials };
  const failure = outcome instanceof LoadError ? advise(outcome, evidence) : undefined;
  const failedAt = LOAD_STEPS.findIndex((name) => name === failure?.name);
  const before = failure ? LOAD_STEPS.slice(0, failedAt) : LOAD_STEPS;
  // An unexpected error may have come at any step, and without a file nobody was asked.
  const isLocal = outcome instanceof LoadError && outcome.isLocal;
  const passed = isLocal ? stepsSeen(observation) : before;
  const suggestions = [
    ...(location.path === listPath
      ? []
      : [{ label: 'For the list in this response:', line: `BANK_LIST=${location.path ?? ''}` }]),
    ...suggestLines(published, missing, survey),
  ];
  return {
    steps: [
      ...passed.map((name) => toStep(name, DESCRIBE[name](evidence))),
      ...(failure ? [failure] : []),
    ],
    proposal: [
      ...(survey.fields.length > 0 ? ['', ...renderFields(survey.fields, published)] : []),
      ...suggestions.flatMap(({ label, line }) => ['', label, `  ${line}`]),
    ],
  };
};

/** The list at BANK_LIST, or else the one that is probably meant, with its path. */
const locateList = (json: unknown, listPath: string | undefined) => {
  const configured = listPath === undefined ? json : isJsonObject(json) && valueAt(json, listPath);
  if (Array.isArray(configured)) return { path: listPath, entries: configured };
  if (Array.isArray(json)) return { path: undefined, entries: json };
  for (const path of findLists(json)) {
    const list = isJsonObject(json) && valueAt(json, path);
    if (Array.isArray(list)) return { path, entries: list };
  }
  return { path: listPath, entries: [] };
};

const describeOutcome = (outcome: Observation['outcome'], failed: readonly string[]): string[] => {
  if (outcome instanceof LoadError) return ['This configuration cannot serve a list.'];
  const { count, representations } = outcome.list;
  const sizes = `${formatBytes(representations.identity.body.length)} plain and ${formatBytes(representations.br.body.length)} in Brotli`;
  const works = `This configuration can serve a list: ${count} banks, ${sizes}.`;
  return failed.length === 0 ? [works] : [works, `But not all of it works: ${failed.join(', ')}.`];
};

/**
 * Undefined: not JSON in UTF-8, or nested too deeply to be looked at, which JSON.stringify finds
 * out.
 */
const jsonOf = (body: Buffer): unknown => {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
    JSON.stringify(value);
    return value;
  } catch {
    return undefined;
  }
};

/** A step that was passed, in words, and what to do next if it needs attention. */
type Description = readonly [message: string, next?: string | undefined];

const toStep = (name: string, [message, next]: Description): Step =>
  next ? { name, result: 'note', message, next } : { name, result: 'ok', message };

const describeConfiguration = ({ provider, banks }: Config): Description => {
  const fields = banks.fields ? `${banks.fields.length} fields` : 'every field';
  const limits = `at most ${provider.timeoutMs} ms and ${formatBytes(provider.maxBodyBytes)}`;
  return [`${provider.environment}, ${provider.baseUrl.href}, ${limits}; publishes ${fields}`];
};

/** The provider's `Date` has whole seconds, and responses take time to arrive. */
const MAX_CLOCK_ERROR_SECONDS = 5;

/** This machine's clock compared with the provider's; undefined if the provider sent no time. */
const describeClock = ({ contacts }: Observation): Description | undefined => {
  const aheadMs = contacts['the provider']?.head?.clockAheadMs;
  if (aheadMs === undefined) return undefined;
  const seconds = Math.round(Math.abs(aheadMs) / 1_000);
  if (seconds <= MAX_CLOCK_ERROR_SECONDS) return ["agrees with the provider's"];
  return [
    `${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the provider's`,
    'synchronise the clock of this machine (NTP): certificates, tokens and the ages of shared lists depend on it; if it is right, tell the provider',
  ];
};

/** With fewer days left, there may be too little time to get a new one. */
const MIN_CERTIFICATE_DAYS = 14;

const DESCRIBE: Readonly<Record<LoadStep, (evidence: Evidence) => Description>> = {
  token: ({ config, observation: { contacts } }) => {
    const { token: source } = config.provider;
    if (source.kind === 'client-credentials')
      return [
        `granted by the token endpoint after ${inWholeMs(contacts['the token endpoint']?.head?.afterMs ?? 0)}`,
      ];
    const isFixed = 'reveal' in source.token;
    return [
      isFixed
        ? 'the fixed one of PROVIDER_ACCESS_TOKEN'
        : 'from the file of PROVIDER_ACCESS_TOKEN_FILE',
    ];
  },
  address: ({ observation: { contacts } }) => {
    const connection = contacts['the provider']?.connection;
    if (!connection) return ['something listens there'];
    const through = connection.isThroughProxy ? 'the provider through the proxy at ' : '';
    return [
      `connected to ${through}${connection.address ?? 'the provider'} after ${inWholeMs(connection.afterMs)}`,
    ];
  },
  TLS: ({ observation: { contacts } }) => {
    const tls = contacts['the provider']?.connection?.tls;
    if (!tls) return ['none: the address is http:, which only a sandbox may have'];
    const message = `${tls.protocol}, the certificate is valid for ${tls.daysLeft} more days`;
    if (tls.daysLeft >= MIN_CERTIFICATE_DAYS) return [message];
    return [message, 'ask the provider, or the operator of its gateway, to renew it in time'];
  },
  status: ({ observation: { contacts } }) => {
    const { status = 200, afterMs = 0 } = contacts['the provider']?.head ?? {};
    return [`${status} after ${inWholeMs(afterMs)}`];
  },
  content: ({ config, observation: { response, endedAfterMs } }) => {
    const message = `JSON, ${formatBytes(response?.body.length ?? 0)}, complete after ${inWholeMs(endedAfterMs)}`;
    if (endedAfterMs <= config.provider.timeoutMs / 2) return [message];
    return [
      `${message}: more than half of PROVIDER_TIMEOUT`,
      'raise PROVIDER_TIMEOUT, so that a slow day does not make it fail',
    ];
  },
  list: ({ observation, survey, json }) => {
    const pages = signOfPages(observation.response?.headers['link'], json);
    if (pages === undefined) return [`${survey.entries} entries`];
    const isSure = observation.response && namesNextPage(observation.response.headers['link']);
    const page = isSure ? 'the first page of more' : 'perhaps the first page of more';
    return [
      `${survey.entries} entries, ${page}: ${pages}`,
      "compare the number with the provider's documentation; this service makes one request: ask for an address that sends the whole list",
    ];
  },
  entries: (evidence) => {
    const { outcome } = evidence.observation;
    const [count, rejected] =
      outcome instanceof LoadError
        ? [0, 0]
        : [outcome.list.count, countRejected(outcome.list.rejected)];
    const hints =
      entryHints(evidence).join('; ') || (rejected > 0 ? 'look at the fields below' : undefined);
    return [`${count} can be served, ${rejected} rejected`, hints];
  },
};
