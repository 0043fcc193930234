// A secret in memory: printing or serialising it shows nothing; only `reveal` returns the text.

export interface Secret {
  reveal(): string;
}

export const toSecret = (text: string): Secret => ({ reveal: () => text });
