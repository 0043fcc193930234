import { SECOND } from '../durations.ts';
import { isTroubling, type History, type Holding, type Process, type Trouble } from '../history.ts';
import type { SecretName } from '../secret-files.ts';

// What it means where a file with a secret is not usable, or what it holds is not what the other
// side accepts: docs/operations.md, "Secret files". It is a trouble with whatever needs the secret.

export const consequencesOf = (history: History): Trouble[] => [
  ...history.processes.flatMap((process) => withoutToken(history, process)),
  ...history.troubles.flatMap((trouble) => {
    if (trouble.kind !== 'secret') return [];
    if (trouble.what === 'CACHE_REDIS_URL') return withoutAddress(history, trouble);
    if (trouble.what !== 'CACHE_SIGNING_KEY') return [];
    // Nothing is saved or restored, or not what others can use.
    return (['redis', 'disk'] as const).map((kind) => ({ ...trouble, kind, what: undefined }));
  }),
];

/** What one file of a machine held, the earliest first. */
export const heldIn = (
  holdings: readonly Holding[],
  index: number,
  name: SecretName,
): readonly Holding[] => holdings.filter((each) => each.index === index && each.name === name);

/**
 * A process that starts without a token calls nobody: for the fleet it is like one that sleeps. One
 * that has had a token keeps it.
 */
const withoutToken = ({ holdings }: History, { index, startedAtMs }: Process): Trouble[] => {
  const held = heldIn(holdings, index, 'PROVIDER_ACCESS_TOKEN');
  const first = held.findLastIndex(({ fromMs }) => fromMs <= startedAtMs + SECOND);
  const usable = held.slice(Math.max(0, first)).find(({ secret }) => secret !== undefined);
  if (first === -1 || usable === held[first]) return [];
  return [{ kind: 'sleep', who: index, fromMs: startedAtMs, untilMs: usable?.fromMs ?? Infinity }];
};

/** The connection in use stays: only who connects from then on needs the address. */
const withoutAddress = (
  { troubles, processes }: History,
  { who, fromMs, untilMs }: Trouble,
): Trouble[] => {
  const lost = troubles.filter(
    (other) => other.kind === 'redis' && isTroubling(other, who, fromMs, untilMs),
  );
  const starts = processes.filter(
    ({ index, startedAtMs, readyAtMs }) =>
      (who === 'all' || who === index) && startedAtMs <= untilMs && readyAtMs >= fromMs,
  );
  const moments = [
    ...lost.map((other) => other.fromMs),
    ...starts.map(({ startedAtMs }) => startedAtMs),
  ];
  if (moments.length === 0) return [];
  return [{ kind: 'redis', who, fromMs: Math.max(fromMs, Math.min(...moments)), untilMs }];
};
