import { read } from './repository.ts';

// The unit for systemd, read.

export const UNIT = 'deploy/systemd/banks-bff.service';

/** The values of `key`, in order. */
export const valuesOf = (key: string): string[] =>
  [...read(UNIT).matchAll(new RegExp(String.raw`^${key}=(.*)$`, 'gm'))].map(([, value = '']) => value);

/** The variables that the unit sets; the rest comes from the operator's file. An assignment with a space is quoted. */
export const unitVariables = (): Record<string, string> =>
  Object.fromEntries(
    valuesOf('Environment').map((line) =>
      line
        .replace(/^"(.*)"$/, '$1')
        .split(/=(.*)/s)
        .slice(0, 2),
    ),
  );
