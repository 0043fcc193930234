import { Session, type Profiler } from 'node:inspector/promises';

// Which branches of the code a simulation reached, as V8 counts them.

const ROOMS = /\/dist\/(src\/(?:banks|sharing)\/.*|src\/provider\/.*(?:token|credentials).*|src\/core)\.js$/;
/** Replaced by the simulation, or only used without it: network, disk, compression. */
const REPLACED = /(?:redis-client|replace-file|redis-url)$/;

/** @returns a function that tells what has been reached since */
export const measureReach = async (): Promise<() => Promise<string[]>> => {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  return async (): Promise<string[]> => {
    const { result } = await session.post('Profiler.takePreciseCoverage');
    return branchesOf(result);
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
