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

// The package's published types ask for a whole IncomingMessage, of which it reads these two parts.
declare module 'proxy-addr' {
  import type { IncomingMessage } from 'node:http';

  type IsTrusted = (address: string, hops: number) => boolean;
  const proxyAddr: {
    (head: Pick<IncomingMessage, 'headers' | 'socket'>, isTrusted: IsTrusted): string;
    compile(addresses: string[]): IsTrusted;
  };
  export default proxyAddr;
}
