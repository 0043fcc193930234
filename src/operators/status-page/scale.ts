// The top of an axis: the next round value, so that its label is short.

const STEPS = [1, 1.2, 1.5, 2, 3, 4, 5, 6, 8, 10];

/** The smallest round integer that is not below `value`; at least 1. */
export const niceCount = (value: number): number => {
  const count = Math.max(1, Math.ceil(value));
  const magnitude = 10 ** Math.floor(Math.log10(count));
  return Math.round(magnitude * (STEPS.find((step) => step * magnitude >= count) ?? 10));
};

const UNITS_MS = [86_400_000, 3_600_000, 60_000, 1_000];
/** Round numbers of seconds, minutes or hours. */
const STEPS_OF_TIME = [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 24, 30, 45, 60];

/** The next round number of days, hours, minutes or seconds that is not below `ms`. */
export const niceDurationMs = (ms: number): number => {
  const unitMs = UNITS_MS.find((unit) => unit <= ms) ?? 1_000;
  const count = ms / unitMs;
  return unitMs * (STEPS_OF_TIME.find((step) => step >= count) ?? niceCount(count));
};
