/** When the steps of a drain end, in wall-clock milliseconds. */
export interface DrainTimes {
  /** Until then new connections are accepted. */
  readonly acceptsUntilMs: number;
  /** At this time the last open connections are closed. */
  readonly endsByMs: number;
}
