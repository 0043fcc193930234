// JSON values of unknown shape: from the provider, the token endpoint and the stores.

export type JsonObject = Readonly<Record<string, unknown>>;

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

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
