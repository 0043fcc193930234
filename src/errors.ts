/** The `code` of an error of Node or a library, such as ENOENT; empty if it has none. */
export const codeOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';

/**
 * The stacks of an error and its causes. Never their other properties: HTTP clients keep whole
 * requests in them.
 */
export const stackOf = (error: unknown): string =>
  stacksOf(error).join('\ncaused by ') || 'unknown error';

const stacksOf = (error: unknown, depth = 0): string[] => {
  if (typeof error !== 'object' || error === null || depth > MAX_CAUSES) return [];
  const stack = 'stack' in error && typeof error.stack === 'string' ? [error.stack] : [];
  return [...stack, ...('cause' in error ? stacksOf(error.cause, depth + 1) : [])];
};

/** A cause can be its own cause. */
const MAX_CAUSES = 8;
