import type { MissingField } from '../bank-fields.ts';
import { percent } from '../units.ts';
import type { Advice, Evidence } from './evidence.ts';

// Why entries are rejected, or published fields have no value.

export const MISSING_FIELD: Advice = {
  step: 'entries',
  likely: 'a name in BANK_FIELDS is wrong, or the provider has renamed the field',
  next: 'use the corrected line below; a field that may be missing from every entry needs a ? at its end',
};

export const adviseOnEntries = (evidence: Evidence): Advice => ({
  step: 'entries',
  likely: entryHints(evidence).join('; ') || 'the entries have nothing in the published fields',
  next:
    evidence.survey.duplicates > 0
      ? 'publish a field in which no two entries are alike, see the table below; if there is one, ask the provider'
      : 'set BANK_FIELDS and BANK_REQUIRED_FIELDS to fields that the table below shows as filled',
});

/** What in the configuration or in the entries explains rejected entries, or fields without a value. */
export const entryHints = ({ config, survey, missing }: Evidence): readonly string[] => [
  ...(survey.nonObjects > 0 ? [`${survey.nonObjects} entries are not JSON objects: tell the provider`] : []),
  ...(survey.duplicates > 0
    ? [`${survey.duplicates} entries have the same published content as an earlier one`]
    : []),
  ...missing.map(describeMissing),
  ...config.banks.requiredFields.flatMap((name) => {
    const from = config.banks.fields?.find((field) => field.name === name)?.from ?? name;
    const filled = survey.fields.find((field) => field.name === from)?.filled ?? 0;
    return filled < 1 ? [`BANK_REQUIRED_FIELDS names ${name}, filled in ${percent(filled)}`] : [];
  }),
];

const describeMissing = ({ field, nearest }: MissingField): string =>
  `no entry has ${field.from}${field.isOptional ? '?' : ''} of BANK_FIELDS` +
  (nearest === undefined ? '' : ` (the provider sends ${nearest})`);
