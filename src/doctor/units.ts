// Figures as people read them.

export const ms = (value: number): string => `${Math.round(value)} ms`;

/** Rounded down: what is not always there must not read as 100 %. */
export const percentFilled = (share: number): string => `${(Math.floor(share * 1_000) / 10).toFixed(1)} %`;

export const size = (bytes: number): string => {
  if (bytes < 1_024) return `${bytes} bytes`;
  return bytes < 1_048_576 ? `${(bytes / 1_024).toFixed(1)} kB` : `${(bytes / 1_048_576).toFixed(1)} MB`;
};
