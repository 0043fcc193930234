import { closeLater } from './close-later.ts';
import { onFreePort } from './free-port.ts';
import { needProgram } from './needs.ts';
import { runProgram } from './program.ts';
import { temporaryFile } from './temporary-folder.ts';

// A real forward proxy of a test's own: tinyproxy, on a free port of loopback. It is killed after the test.

/** `describe` for tests that need tinyproxy. */
export const { describeWithIt: describeWithProxy } = needProgram(
  ['tinyproxy'],
  'On Debian and Ubuntu: apt-get install tinyproxy-bin',
);

interface ForwardProxyOptions {
  readonly credentials?: { readonly user: string; readonly password: string };
  /** The only port that tunnels may lead to; any unless given. */
  readonly onlyPort?: number;
}

export const startForwardProxy = ({ credentials, onlyPort }: ForwardProxyOptions = {}) =>
  onFreePort(async (port) => {
    const config = [
      `Port ${port}`,
      'Listen 127.0.0.1',
      'Timeout 60',
      'LogLevel Connect',
      ...(credentials ? [`BasicAuth ${credentials.user} ${credentials.password}`] : []),
      ...(onlyPort === undefined ? [] : [`ConnectPort ${onlyPort}`]),
    ];
    const file = temporaryFile(`${config.join('\n')}\n`);
    const { end, stall, output, says } = runProgram('tinyproxy', {
      args: ['-d', '-c', file],
    });
    closeLater(() => end());
    await says(/done sending stored logs/);
    return {
      port,
      /** Its address without credentials. */
      url: `http://127.0.0.1:${port}`,
      /** The targets of the tunnels that were asked for so far, such as `localhost:4000`. */
      targets: (): string[] =>
        [...output().matchAll(/: CONNECT (\S+) HTTP/g)].map(([, target = '']) => target),
      stall,
    };
  });
