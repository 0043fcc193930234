import { Session, type Profiler } from 'node:inspector/promises';
import { ANSWERS, GRANTS } from './answers.ts';
import { MOMENTS, type Action } from './events.ts';
import { REDIS_FAULTS } from './redis.ts';

// What a simulation reached: events, pairs of events, states, and the branches of the code, as V8 counts them.

const ROOMS = /\/dist\/(src\/(?:banks|sharing)\/.*|src\/provider\/.*(?:token|credentials).*|src\/core)\.js$/;
/** Replaced by the simulation, or only used without it: network, disk, compression. */
const REPLACED = /(?:redis-client|replace-file|redis-url)$/;

export const createReach = async () => {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  const seen = {
    actions: new Map<string, number>(),
    pairs: new Set<string>(),
    states: new Map<string, number>(),
  };
  let last = '';
  const add = (to: Map<string, number>, name: string): void => void to.set(name, (to.get(name) ?? 0) + 1);
  return {
    onAction: (action: Action): void => {
      add(seen.actions, action.type);
      if (action.type === 'provider') add(seen.actions, `answer ${action.answer}`);
      if (action.type === 'token endpoint') add(seen.actions, `grant ${action.grant}`);
      if (action.type === 'redis') add(seen.actions, `redis ${action.fault}`);
      if (last !== '') seen.pairs.add(`${last}, ${action.type}`);
      last = action.type;
    },
    onState: (state: string): void => add(seen.states, state),
    report: async (): Promise<string[]> => {
      const { result } = await session.post('Profiler.takePreciseCoverage');
      const types = [...seen.actions.keys()].filter(
        (name) => !/^(?:answer|grant|redis) [a-z]/.test(name) || /^redis (?:slow|once)$/.test(name),
      );
      const countOf = (prefix: string): number =>
        [...seen.actions.keys()].filter((name) => name.startsWith(prefix)).length;
      return [
        `events: ${types.length} kinds; ${countOf('answer ')} of ${Object.keys(ANSWERS).length} answers, ${countOf('grant ')} of ${Object.keys(GRANTS).length} grants, ${REDIS_FAULTS.filter((fault) => seen.actions.has(`redis ${fault}`)).length} of ${REDIS_FAULTS.length} faults of Redis, ${MOMENTS.length} moments`,
        `pairs of events: ${seen.pairs.size} of ${types.length ** 2}`,
        `states of a replica: ${seen.states.size}`,
        ...branchesOf(result),
      ];
    },
  };
};

/** As Node's test runner counts them: each range that V8 counts by itself is a branch. */
const branchesOf = (scripts: readonly Profiler.ScriptCoverage[]): string[] => {
  const rooms = new Map<string, { all: number; reached: number }>();
  const missing: string[] = [];
  for (const { url, functions } of scripts) {
    const [, path = ''] = ROOMS.exec(url) ?? [];
    if (path === '' || REPLACED.test(path)) continue;
    const room = path.split('/').slice(0, 2).join('/');
    const tally = rooms.get(room) ?? { all: 0, reached: 0 };
    rooms.set(room, tally);
    for (const { functionName, ranges } of functions)
      for (const { count, startOffset, endOffset } of ranges) {
        tally.all += 1;
        if (count > 0) tally.reached += 1;
        else
          missing.push(`  not reached: ${path} ${functionName || '(anonymous)'} ${startOffset}-${endOffset}`);
      }
  }
  const total = [...rooms.values()].reduce(
    (sum, { all, reached }) => ({ all: sum.all + all, reached: sum.reached + reached }),
    { all: 0, reached: 0 },
  );
  const show = (name: string, { all, reached }: { all: number; reached: number }): string =>
    `branches of ${name}: ${reached} of ${all}, ${((100 * reached) / all).toFixed(1)} %`;
  return [...[...rooms].map(([name, tally]) => show(name, tally)), show('all', total), ...missing];
};
