/** When the steps of a drain end, in wall-clock milliseconds. */
export interface DrainTimes {
  /** Until then new connections are accepted. */
  readonly acceptsUntilMs: number;
  /** Then the last open connections are cut off. */
  readonly endsByMs: number;
}
