/** One plausible mistake, and the tests that should notice it. */
export interface Fault {
  readonly file: string;
  /** What it replaces: text that is in the file exactly once. */
  readonly code: string;
  readonly fault: string;
  /** What goes wrong with it. */
  readonly effect: string;
  /** The likeliest first. */
  readonly tests: readonly string[];
  /** Why no test notices it. */
  readonly unnoticed?: string;
}
