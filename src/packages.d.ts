// Types of packages where their own lack what is used here.

// The part of negotiator that is used here; its published types lack `preferred`, which it has since
// 1.0.
declare module 'negotiator' {
  export default class Negotiator {
    constructor(request: { readonly headers: Readonly<Record<string, string | undefined>> });
    encoding<C extends string>(
      available: readonly C[],
      options?: { readonly preferred: readonly C[] },
    ): C | undefined;
  }
}

// Node has it for every message since 15.4; its types know it of requests only.
declare module 'http' {
  interface OutgoingMessage<Request extends IncomingMessage = IncomingMessage> {
    getRawHeaderNames(): string[];
  }
}
