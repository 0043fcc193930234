// How much memory a process holds after garbage collection, told by the process itself.

/**
 * A module to preload: on SIGUSR2 it writes a line with the bytes in and outside the heap after garbage collection. It looks like
 * a line of the log, and changes nothing else.
 */
export const TELLS_HELD_MEMORY = `
  import { setFlagsFromString } from 'node:v8';
  import { runInNewContext } from 'node:vm';
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc');
  process.on('SIGUSR2', () => {
    for (let turn = 0; turn < 3; turn += 1) collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    process.stdout.write('{"level":20,"held":' + (heapUsed + external) + '}\\n');
  });
`;

/** The megabytes that each such line in `output` tells. */
export const heldMbIn = (output: string): number[] =>
  [...output.matchAll(/^\{"level":20,"held":(\d+)\}$/gm)].map(([, bytes]) => Number(bytes) / 2 ** 20);
