/** Node's or a library's name for what went wrong, such as ENOENT; empty where the error has none. */
export const codeOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
