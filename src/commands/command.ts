import type { ProcessEnvironment } from '../config/environment.ts';
import type { Redaction } from '../secrets/redaction.ts';
import type { LogDestination } from '../telemetry/log-stream.ts';

// What a command is given of the process. A command returns the exit status; only main.ts touches the process itself.

export interface CommandContext {
  /** Secrets are deleted from it once they have been read. */
  readonly env: ProcessEnvironment;
  /** Must be given every secret; both writers apply it. */
  readonly redaction: Redaction;
  /** Writes to standard output. */
  readonly write: (text: string) => void;
}

export interface ServeContext extends CommandContext {
  readonly version: string;
  readonly openLog: () => LogDestination;
  /** Writes to standard error, within a bounded time. */
  readonly writeError: (text: string) => void;
  /** Resolves with the first signal that asks the process to stop. From the call on, it no longer ends the process. */
  readonly stopSignal: () => Promise<'SIGTERM' | 'SIGINT'>;
}
