import { showName } from '../banks/field-names.ts';
import type { FieldRule } from '../banks/reading/entry.ts';
import type { FieldSeen } from './survey.ts';

// How steps, figures and fields read on a terminal: plain text, one line for each step.

/** A step of the report. */
export interface Step {
  readonly name: string;
  /** `note`: it works, but should be looked at. */
  readonly result: 'ok' | 'note' | 'FAIL';
  readonly message: string;
  /** The likely cause. */
  readonly likely?: string;
  /** What to do. */
  readonly next?: string;
}

export const inWholeMs = (value: number): string => `${Math.round(value)} ms`;

/** Rounded down: what is not always there must not read as 100 %. */
export const percentFilled = (share: number): string =>
  `${(Math.floor(share * 1_000) / 10).toFixed(1)} %`;

export const formatBytes = (bytes: number): string => {
  if (bytes < 1_024) return `${bytes} bytes`;
  return bytes < 1_048_576
    ? `${(bytes / 1_024).toFixed(1)} kB`
    : `${(bytes / 1_048_576).toFixed(1)} MB`;
};

export const renderStep = ({ result, name, message, likely, next }: Step): string[] => [
  `${result.padEnd(5)} ${name.padEnd(14)} ${message}`,
  ...(likely ? [`${' '.repeat(6)}${'likely'.padEnd(14)} ${likely}`] : []),
  ...(next ? [`${' '.repeat(6)}${'next'.padEnd(14)} ${next}`] : []),
];

/** @param published undefined: every field */
export const renderFields = (
  fields: readonly FieldSeen[],
  published: readonly FieldRule[] | undefined,
): string[] => {
  const shown = fields.slice(0, MAX_FIELDS_SHOWN);
  const width = Math.max(...shown.map(({ name }) => showName(name).length), 'field'.length);
  const row = (...[name = '', filled = '', types = '', remark = '']: string[]): string =>
    `  ${name.padEnd(width)}  ${filled.padStart(7)}  ${types.padEnd(12)} ${remark}`.trimEnd();
  return [
    row('field', 'filled', 'type'),
    ...shown.map((field) => {
      const { name, filled, types } = field;
      return row(
        showName(name),
        percentFilled(filled),
        types.join(' or '),
        remarkOn(field, published),
      );
    }),
    ...(fields.length > shown.length ? [`  and ${fields.length - shown.length} more`] : []),
  ];
};

/** A hostile response can have a field for each of its bytes. */
const MAX_FIELDS_SHOWN = 60;

const remarkOn = ({ name, isUnique }: FieldSeen, published: readonly FieldRule[] = []): string => {
  const field = published.find(({ from }) => from === name);
  const as = field && field.name !== name ? ` as ${field.name}` : '';
  return [...(field ? [`published${as}`] : []), ...(isUnique ? ['no two entries alike'] : [])].join(
    ', ',
  );
};
