import { Session, type Profiler } from 'node:inspector/promises';

// Which branches of the code a simulation reached, as V8 counts them.

const CORE = /\/dist\/(src\/(?:banks|sharing)\/.*|src\/provider\/.*(?:token|credentials).*|src\/core)\.js$/;
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
  const branches = scripts.flatMap(({ url, functions }) => {
    const [, path = ''] = CORE.exec(url) ?? [];
    if (path === '' || REPLACED.test(path)) return [];
    return functions.flatMap(({ functionName, ranges }) =>
      ranges.map(({ count, startOffset, endOffset }) => ({
        isReached: count > 0,
        place: `${path} ${functionName || '(anonymous)'} ${startOffset}-${endOffset}`,
      })),
    );
  });
  const missing = branches.filter(({ isReached }) => !isReached);
  const reached = branches.length - missing.length;
  return [
    `branches: ${reached} of ${branches.length}, ${((100 * reached) / branches.length).toFixed(1)} %`,
    ...missing.map(({ place }) => `  not reached: ${place}`),
  ];
};
