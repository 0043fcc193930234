// Times and numbers as the page shows them.

/**
 * A time span in its two largest units, such as `2 h 5 min`. Below two minutes in seconds. Without
 * line breaks.
 */
export const formatDuration = (ms: number): string => {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 120) return joinUnits([seconds, 's']);
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return joinUnits([minutes, 'min']);
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return joinUnits([hours, 'h'], [minutes % 60, 'min']);
  return joinUnits([Math.floor(hours / 24), 'd'], [hours % 24, 'h']);
};

const NO_BREAK_SPACE = '\u00A0';

const joinUnits = (
  first: readonly [number, string],
  second: readonly [number, string] = [0, ''],
): string => (second[0] === 0 ? first : [...first, ...second]).join(NO_BREAK_SPACE);

/**
 * A moment in UTC: the time of day, or the day and the minute if it is not on the day of `nowMs`.
 */
export const formatTime = (wallMs: number, nowMs: number): string => {
  // Such as "Thu, 08 Jan 2026 03:16:00 GMT".
  const [text, now] = [new Date(wallMs).toUTCString(), new Date(nowMs).toUTCString()];
  if (text.slice(0, 16) === now.slice(0, 16)) return text.slice(17, 25);
  return `${text.slice(5, 11)} ${text.slice(17, 22)}`.replaceAll(' ', NO_BREAK_SPACE);
};

/** `03:16:00 (5 min)`: a moment in the past, and how long ago it was. */
export const formatSince = (pastMs: number, nowMs: number): string =>
  `${formatTime(pastMs, nowMs)} (${formatDuration(nowMs - pastMs)})`;
