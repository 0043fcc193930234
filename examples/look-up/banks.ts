import { readFile, rename, writeFile } from 'node:fs/promises';

// Finds banks by code or ISPB in a service of yours. One conditional request per CACHE_TTL keeps
// the list current.

export interface Bank {
  readonly code: string;
  readonly ispb: string;
  readonly name: string;
}

/** Asks no more often, and so often while there is no answer. */
const LEAST_WAIT_MS = 60_000;
/** A list may be fresh for longer than `setTimeout` can wait. */
const LONGEST_WAIT_MS = 86_400_000;

/**
 * @param file keeps the last list for the next start; on day 0 it is one that came with the
 *   program, if there is one
 * @returns a function that finds a bank by its code or ISPB; it throws while there is no list,
 *   which is not the same as no such bank
 */
export const openBanks = async (
  url: string,
  file: string,
  leastWaitMs = LEAST_WAIT_MS,
): Promise<(codeOrIspb: string) => Bank | undefined> => {
  let banks: ReadonlyMap<string, Bank> | undefined;
  let etag: string | undefined;

  const use = (text: string): void => {
    const list: readonly Bank[] = JSON.parse(text);
    if (!Array.isArray(list)) throw new TypeError('this is no list of banks');
    banks = new Map(
      list.flatMap((bank) => [
        [bank.code, bank],
        [bank.ispb, bank],
      ]),
    );
  };

  /**
   * Asks once. @returns milliseconds until the list will have been renewed, or until the service
   * wants to be asked again
   */
  const refresh = async (): Promise<number> => {
    const response = await fetch(url, {
      headers: etag === undefined ? {} : { 'If-None-Match': etag },
      signal: AbortSignal.timeout(10_000),
    });
    const text = await response.text();
    if (response.status === 200) {
      use(text);
      etag = response.headers.get('ETag') ?? undefined;
      // Never half written: the next start reads it.
      await writeFile(`${file}.new`, text);
      await rename(`${file}.new`, file);
    }
    // Caches on the way may have added members of their own.
    const cacheStatus = response.headers.get('Cache-Status') ?? '';
    const [, ttl] = /(?:^|,)\s*banks-bff\b[^,]*;\s*ttl=(\d+)/.exec(cacheStatus) ?? [];
    return 1_000 * Number(ttl ?? response.headers.get('Retry-After'));
  };
  const keepCurrent = async (): Promise<void> => {
    const waitMs = await refresh().catch(() => 0);
    const boundedMs = Math.min(Math.max(waitMs, leastWaitMs), LONGEST_WAIT_MS);
    // The timer alone does not keep the program running.
    setTimeout(() => void keepCurrent(), boundedMs).unref();
  };

  // A file that is absent or damaged is replaced by the first list that the service gives.
  await readFile(file, 'utf8')
    .then(use)
    .catch(() => undefined);
  const first = keepCurrent();
  if (!banks) await first;
  return (codeOrIspb) => {
    if (!banks)
      throw new Error(`there is no list of banks: ${url} has not given one, and ${file} has none`);
    return banks.get(codeOrIspb);
  };
};
