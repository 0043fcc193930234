import { isPlainName } from '../banks/guard/field-names.ts';
import type { Report, Step } from './diagnosis.ts';
import type { FieldSeen } from './survey.ts';
import { percentFilled, size } from './units.ts';

// The report as people read it on a terminal: plain text, one line for each step.

export const render = ({ steps, fields, published, suggestions, served, failed }: Report): string => {
  const lines = steps.flatMap(renderStep);
  if (fields.length > 0) lines.push('', ...renderFields(fields, published));
  lines.push(...suggestions.flatMap(({ label, line }) => ['', label, `  ${line}`]));
  return [...lines, '', ...renderOutcome(served, failed), ''].join('\n');
};

const renderOutcome = (served: Report['served'], failed: Report['failed']): string[] => {
  if (!served) return ['This configuration cannot serve a list.'];
  const { count, representations } = served.list;
  const sizes = `${size(representations.identity.body.length)} plain and ${size(representations.br.body.length)} in Brotli`;
  const works = `This configuration can serve a list: ${count} banks, ${sizes}.`;
  return failed.length === 0 ? [works] : [works, `But not all of it works: ${failed.join(', ')}.`];
};

const renderStep = ({ verdict, name, message, likely, next }: Step): string[] => [
  `${verdict.padEnd(5)} ${name.padEnd(14)} ${message}`,
  ...(likely ? [`${' '.repeat(6)}${'likely'.padEnd(14)} ${likely}`] : []),
  ...(next ? [`${' '.repeat(6)}${'next'.padEnd(14)} ${next}`] : []),
];

const renderFields = (fields: readonly FieldSeen[], published: Report['published']): string[] => {
  const shown = fields.slice(0, MAX_FIELDS_SHOWN);
  const width = Math.max(...shown.map(({ name }) => nameOf(name).length), 'field'.length);
  const row = (...[name = '', filled = '', types = '', remark = '']: string[]): string =>
    `  ${name.padEnd(width)}  ${filled.padStart(7)}  ${types.padEnd(12)} ${remark}`.trimEnd();
  return [
    row('field', 'filled', 'type'),
    ...shown.map(({ name, filled, types, isUnique }) =>
      row(nameOf(name), percentFilled(filled), types.join(' or '), remarkOn(name, isUnique, published)),
    ),
    ...(fields.length > shown.length ? [`  and ${fields.length - shown.length} more`] : []),
  ];
};

/** A hostile answer can have a field for each of its bytes. */
const MAX_FIELDS_SHOWN = 60;

const nameOf = (name: string): string => (isPlainName(name) ? name : '(a name with other characters)');

const remarkOn = (from: string, isUnique: boolean, published: Report['published']): string => {
  const field = published?.find((candidate) => candidate.from === from);
  const as = field && field.name !== from ? ` as ${field.name}` : '';
  return [
    ...(published && field ? [`published${as}`] : []),
    ...(isUnique ? ['no two entries alike'] : []),
  ].join(', ');
};
