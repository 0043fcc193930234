// The part of negotiator that is used here; its published types lack `preferred`, which it has since 1.0.
declare module 'negotiator' {
  export default class Negotiator {
    constructor(request: { readonly headers: Readonly<Record<string, string | undefined>> });
    encoding<C extends string>(
      available: readonly C[],
      options?: { readonly preferred: readonly C[] },
    ): C | undefined;
  }
}
