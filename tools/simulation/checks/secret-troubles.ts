import type { History, Trouble } from '../history.ts';

// What it means where a file with a secret is not usable, or what it holds is not what the other
// side accepts: docs/operations.md, "Secret files". It is a trouble with whatever needs the secret.

export const consequencesOf = (history: History): Trouble[] =>
  history.troubles
    .filter(({ kind }) => kind === 'secret')
    .flatMap((trouble) => CONSEQUENCES[trouble.what ?? '']?.(history, trouble) ?? []);

type Consequence = (history: History, trouble: Trouble) => Trouble[];

const CONSEQUENCES: Readonly<Record<string, Consequence>> = {
  /** Nothing is saved or restored, or not what others can use. */
  CACHE_SIGNING_KEY: (_history, trouble) =>
    (['redis', 'disk'] as const).map((kind) => ({ ...trouble, kind, what: undefined })),
  /** The connection in use stays: only who connects from then on needs it. */
  CACHE_REDIS_URL: (history, trouble) => {
    const lost = history.troubles.filter(
      ({ kind, who, fromMs, untilMs }) =>
        kind === 'redis' &&
        (who === 'all' || trouble.who === 'all' || who === trouble.who) &&
        fromMs <= trouble.untilMs &&
        untilMs >= trouble.fromMs,
    );
    return since([...lost, ...startsIn(history, trouble)], { ...trouble, kind: 'redis' });
  },
  /**
   * A token that is not usable matters to a process that starts without one; one that is refused,
   * at once.
   */
  PROVIDER_ACCESS_TOKEN: (history, trouble) => {
    const held = history.holdings.findLast(
      ({ name, index, fromMs }) =>
        name === trouble.what && index === trouble.who && fromMs <= trouble.fromMs,
    );
    const isUnusable = held !== undefined && held.secret === undefined;
    return since(isUnusable ? startsIn(history, trouble) : [trouble], {
      ...trouble,
      kind: 'provider',
    });
  },
};

interface Moment {
  readonly fromMs: number;
}

/** Processes that were starting meanwhile. */
const startsIn = ({ processes }: History, { who, fromMs, untilMs }: Trouble): Moment[] =>
  processes
    .filter(
      ({ index, startedAtMs, readyAtMs }) =>
        (who === 'all' || who === index) && startedAtMs <= untilMs && readyAtMs >= fromMs,
    )
    .map(({ startedAtMs }) => ({ fromMs: startedAtMs }));

/** The trouble from the first of these moments on; none without one. */
const since = (moments: readonly Moment[], trouble: Trouble): Trouble[] => {
  const fromMs = Math.max(trouble.fromMs, Math.min(...moments.map((each) => each.fromMs)));
  return moments.length > 0 ? [{ ...trouble, what: undefined, fromMs }] : [];
};
