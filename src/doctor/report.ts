import type { LoadError } from '../banks/load-error.ts';
import type { FieldRule } from '../banks/reading/entry.ts';
import type { ReadList } from '../banks/reading/list-reader.ts';
import { showName } from '../banks/reading/provider-fields.ts';
import type { Config } from '../config/config.ts';
import {
  BASE_URL_VARIABLES,
  FAILURE_KINDS,
  RETRIES,
  RUN_DOCTOR,
  TOKEN,
  type Action,
} from '../failure-kinds.ts';
import { SECRET_NAMES, variableOf } from '../secrets/secret.ts';

// How the steps of the doctor and the provider's fields read on a terminal: plain text in words of
// this service.

/** A step of the report. */
export interface Step {
  readonly name: string;
  /** `note`: it works, but needs attention. */
  readonly result: 'ok' | 'note' | 'FAIL';
  readonly message: string;
  /** What the failure means. */
  readonly means?: string;
  /** What to do, a sentence each. */
  readonly next?: readonly string[];
  /** The variables that may change it. */
  readonly variables?: readonly string[];
}

export const toFailure = (name: string, error: LoadError, config: Config): Step => {
  const { summary, actions } = FAILURE_KINDS[error.kind];
  const next = actions.filter((action) => action !== RETRIES && action !== RUN_DOCTOR);
  return {
    name,
    result: 'FAIL',
    message: error.message,
    means: summary,
    next: next.map(toSentence),
    variables: variablesOf(name, error, config),
  };
};

/** The variables that may change a failure, by their names in this configuration. */
const variablesOf = (step: string, { kind }: LoadError, config: Config): string[] => {
  const { environment, grants, tokenVariable } = config.provider;
  const baseUrl = `PROVIDER_${environment.toUpperCase()}_BASE_URL`;
  const names: Readonly<Record<string, string>> = {
    ...Object.fromEntries(SECRET_NAMES.map((name) => [name, variableOf(name, config.secrets)])),
    [BASE_URL_VARIABLES]: step === 'token' && grants ? 'PROVIDER_TOKEN_URL' : baseUrl,
    [TOKEN]: tokenVariable,
  };
  return FAILURE_KINDS[kind].variables.map((name) => names[name] ?? name);
};

const toSentence = (action: Action): string => {
  if (typeof action === 'string') return action;
  const { text, command } = action;
  return command === 'doctor' ? text.replace(/:$/, '.') : `${text} POST /${command}`;
};

export const renderStep = ({ result, name, message, means, next, variables }: Step): string[] => {
  const line = (start: string, label: string, text: string): string =>
    `${start.padEnd(5)} ${label.padEnd(14)} ${text}`;
  return [
    line(result, name, message),
    ...(means === undefined ? [] : [line('', 'means', means)]),
    ...(next ?? []).map((text) => line('', 'next', text)),
    ...(variables?.length ? [line('', 'variables', variables.join(', '))] : []),
  ];
};

/** The time since `startedAtMs`, which performance.now() gave. */
export const elapsedSince = (startedAtMs: number): string =>
  `${Math.round(performance.now() - startedAtMs)} ms`;

export const formatBytes = (bytes: number): string => {
  if (bytes < 1_024) return `${bytes} bytes`;
  return bytes < 1_048_576
    ? `${(bytes / 1_024).toFixed(1)} kB`
    : `${(bytes / 1_048_576).toFixed(1)} MB`;
};

/** A hostile response can have hundreds. */
const MAX_FIELDS_SHOWN = 60;

/**
 * The provider's fields, with how often each is filled, after those of BANK_FIELDS that no entry
 * has.
 * @param published undefined: every field
 */
export const renderFields = (
  { publishableFields, absentFields }: ReadList,
  published: readonly FieldRule[] = [],
): string[] => {
  const absent = published.filter(({ name }) => absentFields.includes(name));
  const fields = [...absent.map(({ from }) => ({ path: from, share: 0 })), ...publishableFields];
  const shown = fields.slice(0, MAX_FIELDS_SHOWN);
  const width = Math.max('field'.length, ...shown.map(({ path }) => showName(path).length));
  const row = (name: string, filled: string, remark: string): string =>
    `  ${name.padEnd(width)}  ${filled.padStart(7)}  ${remark}`.trimEnd();
  return [
    row('field', 'filled', ''),
    ...shown.map(({ path, share }) => {
      const rule = published.find(({ from }) => from === path);
      return row(showName(path), percentFilled(share), rule ? `published as ${rule.name}` : '');
    }),
    ...(fields.length > shown.length ? [`  and ${fields.length - shown.length} more`] : []),
  ];
};

/** Rounded down: what is not always there must not read as 100 %. */
const percentFilled = (share: number): string => `${(Math.floor(share * 1_000) / 10).toFixed(1)} %`;
