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
