import { systemClock } from '../clock.ts';
import { isPlainName } from '../banks/field-names.ts';
import { suggestFields } from '../banks/field-suggestion.ts';
import { guard, type GuardedList } from '../banks/guard.ts';
import { LoadError } from '../banks/load-error.ts';
import { REJECTION_REASONS } from '../banks/reading/entry.ts';
import { readList, type LoadedList, type ReadList } from '../banks/reading/list-reader.ts';
import type { Config } from '../config/config.ts';
import { findGreaterNumbers, findListPath, toJson } from './body.ts';
import { variablesOf, type Observation } from './load.ts';
import { formatBytes, renderFields, toFailure, type Step } from './report.ts';

// The list that has arrived: whether the service would serve it, what its entries have, and the
// variables that fit it.

/** More would make an unreadable line. */
const MAX_PATHS = 8;

/**
 * @param held the saved list that can be served: with it the running service compares
 * @returns nothing where no response with status 200 has arrived
 */
export const explainList = (
  config: Config,
  { outcome, response }: Observation,
  held: GuardedList | undefined,
) => {
  const { banks } = config;
  if (response?.status !== 200) return undefined;
  const body = toJson(response.body);
  const listPath = findListPath(body, banks.listPath);
  const read = tryToRead(response.body, { ...banks, listPath });
  const hints = read ? hintsOn(read) : [];
  const toRefusal = (error: LoadError): Step =>
    withHints(toFailure('list', error, variablesOf(error, config, 'list')), hints);
  const explain = (list: LoadedList): Step => {
    const error = whyRefused(list, held, config);
    return error ? toRefusal(error) : describeList(list, { body, held, hints });
  };
  const step = outcome instanceof LoadError ? toRefusal(outcome) : explain(outcome);
  const fields = read?.publishableFields ?? [];
  return {
    step,
    lines: [
      ...(fields.length > 0 ? ['', ...renderFields(fields, banks.fields)] : []),
      ...(read && listPath !== banks.listPath
        ? ['', 'The list is here:', `  BANK_LIST=${listPath ?? ''}`]
        : []),
      ...(fields.length > 0
        ? [
            '',
            'Every field of the provider. Keep those that browsers need, in their order:',
            `  BANK_FIELDS=${suggestFields(fields).join(',')}`,
          ]
        : []),
    ],
  };
};

/** Undefined: there is no list. */
const tryToRead = (bytes: Buffer, banks: Config['banks']): ReadList | undefined => {
  try {
    return readList(bytes, banks);
  } catch (error) {
    if (error instanceof LoadError) return undefined;
    throw error;
  }
};

const whyRefused = (
  list: ReadList,
  held: GuardedList | undefined,
  { guard: limits, banks, cache }: Config,
): LoadError | undefined => {
  try {
    guard(
      list,
      held,
      { ...limits, fields: banks.fields, maxStaleMs: cache.maxStaleMs },
      [],
      systemClock.monotonicMs(),
    );
    return undefined;
  } catch (error) {
    return LoadError.from(error);
  }
};

const withHints = (step: Step, hints: readonly string[]): Step => ({
  ...step,
  next: [...hints, ...(step.next ?? [])],
});

/** What of BANK_FIELDS and of the entries needs attention. */
const hintsOn = ({ absentFields, objectFields, rejected }: ReadList): readonly string[] => [
  ...(absentFields.length > 0 ? [`No entry has ${absentFields.join(', ')} of BANK_FIELDS.`] : []),
  ...[...objectFields].map(([name, paths]) => {
    const inside = paths.filter(isPlainName).slice(0, MAX_PATHS).join(', ');
    return `${name} of BANK_FIELDS is an object, or has objects${inside && `: it has ${inside}`}.`;
  }),
  ...REJECTION_REASONS.filter((reason) => rejected[reason] > 0).map(
    (reason) => `${rejected[reason]} entries are left out (${reason}).`,
  ),
];

interface Surroundings {
  readonly body: unknown;
  readonly held: GuardedList | undefined;
  readonly hints: readonly string[];
}

const describeList = (list: LoadedList, { body, held, hints }: Surroundings): Step => {
  const { count, json, rejected, hasNextPage } = list;
  const entries = REJECTION_REASONS.reduce((sum, reason) => sum + rejected[reason], count);
  const greater = findGreaterNumbers(body, entries);
  const next = [
    ...hints,
    ...(hasNextPage
      ? ['The response names a next page, which is not loaded: ask for all banks at once.']
      : []),
    ...(greater.length > 0
      ? [
          `The list has ${entries} entries. If one of these is the number of all banks, it is incomplete: ${greater.join(', ')}.`,
        ]
      : []),
    ...(hasNextPage || greater.length > 0
      ? ['PROVIDER_QUERY may ask for more, such as pageSize=1000.']
      : []),
  ];
  const compared = held ? `; compared with the saved list of ${held.count}` : '';
  return {
    name: 'list',
    result: next.length > 0 ? 'note' : 'ok',
    message: `${count} banks, ${formatBytes(json.length)}${compared}`,
    next,
  };
};
