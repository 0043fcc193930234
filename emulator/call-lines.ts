import type { Call } from './calls.ts';

// The emulator's calls as lines for a terminal.

const MAX_LINES_PER_SECOND = 5;

/**
 * Returns a function that writes one line for each call. After five lines within a second it only
 * counts further calls; the count is written before the next line.
 */
export function createCallLines(
  write: (line: string) => void,
  now: () => number,
): (call: Call) => void {
  let second = 0;
  let linesThisSecond = 0;
  let omitted = 0;

  return ({ method, path, status }) => {
    const nowMs = now();
    if (Math.floor(nowMs / 1000) !== second) {
      second = Math.floor(nowMs / 1000);
      linesThisSecond = 0;
    }
    if (linesThisSecond >= MAX_LINES_PER_SECOND) {
      omitted += 1;
      return;
    }
    linesThisSecond += 1;
    const more = omitted > 0 ? ` (and ${omitted} more before it)` : '';
    omitted = 0;
    // A client chooses it; Node's parser lets only printable ASCII through.
    const shownPath = path.slice(0, 80);
    const time = new Date(nowMs).toISOString().slice(11, 19);
    write(`${time}  emulator: ${method} ${shownPath} -> ${status ?? 'no response'}${more}\n`);
  };
}
