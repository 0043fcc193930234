// JSON values of unknown shape: from the provider, the token endpoint and the stores.

export type JsonObject = Readonly<Record<string, unknown>>;

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The longest list that is read. Far above any real one: there are about 500 banks, and the largest
 * register of payment institutions has 10,000.
 */
export const MAX_LIST_ENTRIES = 50_000;

/** The most members that the path to a value in an object names, such as 2 in `data.banks`. */
export const MAX_PATH_DEPTH = 8;

/**
 * The value of JSON text; undefined if it is not JSON. The parser's message is dropped, because it
 * quotes the text.
 */
export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
