// A secret while it is in memory: it prints as nothing, and its text leaves only where `reveal` is called.

export interface Secret {
  reveal(): string;
}

export const toSecret = (text: string): Secret => ({ reveal: () => text });
