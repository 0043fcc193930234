import { notAfter } from '../../clock.ts';
import { unusableOf, type SecretFileState } from '../../secrets/secrets.ts';
import { formatCount, formatDuration, formatTime } from './format.ts';

/** What the page says about unusable secret files; undefined if all are usable. Pure. */
export const describeUnusableFiles = (secretFiles: readonly SecretFileState[], nowMs: number) => {
  const files = unusableOf(secretFiles);
  if (files.length === 0) return undefined;
  const count = formatCount(files.length, 'secret file', 'secret files');
  return {
    /** If nothing else is wrong. */
    headline: `Users get the current list, but ${count} cannot be used.`,
    problems: files.map(({ variable, problem, consequence, ...file }) => {
      const sinceMs = notAfter(nowMs, file.sinceMs);
      return {
        summary: `The file of ${variable} cannot be used.`,
        history: `Since ${formatTime(sinceMs, nowMs)} (${formatDuration(nowMs - sinceMs)}): ${consequence}.`,
        details: `it ${problem}`,
      };
    }),
    action:
      'Correct the secret files under “What is wrong”. They are read again every 10 s; then POST /refresh shows whether the provider accepts what they hold.',
  };
};
