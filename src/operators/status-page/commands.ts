import type { IncomingMessage } from 'node:http';
import type { Acceptance } from '../../banks/guard/guard.ts';

// The shell commands on the page. Each works when it is pasted into a POSIX shell as it stands.

export type CommandName = 'doctor' | `accept-${Acceptance}`;

export interface Command {
  readonly line: string;
  /** What must be true where it is run. */
  readonly requirement: string;
}

export type Commands = Readonly<Record<CommandName, Command>>;

/** @param isRefreshEnabled whether a management token is configured */
export const commandsFor = (req: IncomingMessage, isRefreshEnabled: boolean): Commands => ({
  doctor: DOCTOR,
  'accept-shrunk': acceptCommand(req, 'shrunk', isRefreshEnabled),
  'accept-drifted': acceptCommand(req, 'drifted', isRefreshEnabled),
});

const DOCTOR: Command = {
  line: 'node dist/src/main.js doctor',
  requirement: 'Run it in the directory of the service (in the image: /app), with the service’s environment.',
};

const acceptCommand = (req: IncomingMessage, accept: Acceptance, isRefreshEnabled: boolean): Command => ({
  // An unset variable stops the command, and the shell names it.
  line: `curl -X POST -H "Authorization: Bearer \${MANAGEMENT_TOKEN:?is not set}" '${baseUrlOf(req)}/refresh?accept=${accept}'`,
  requirement: isRefreshEnabled
    ? 'Set MANAGEMENT_TOKEN in your shell to the service’s management token first.'
    : 'POST /refresh is disabled: set MANAGEMENT_TOKEN or MANAGEMENT_TOKEN_FILE for the service and restart it first. Then set MANAGEMENT_TOKEN in your shell.',
});

/** Names, IPv4 addresses and IPv6 addresses in brackets: no character that could end the shell's quotes. */
const SAFE_HOST = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

/** The address under which the reader reached the page, perhaps through a tunnel; otherwise the listener's own. */
const baseUrlOf = ({ headers: { host = '' }, socket }: IncomingMessage): string => {
  if (SAFE_HOST.test(host)) return `http://${host}`;
  const address = socket.localAddress ?? '127.0.0.1';
  return `http://${address.includes(':') ? `[${address}]` : address}:${socket.localPort}`;
};
