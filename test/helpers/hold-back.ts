import type { Emulator } from '../../emulator/emulator.ts';

interface HeldAnswer {
  /** 200 unless given. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** The next answer of the provider is this one, and is sent when the test says so. */
export const holdBack = (
  provider: Emulator,
  { status = 200, headers, body }: HeldAnswer,
): { readonly isAsked: () => boolean; readonly send: () => void } => {
  let send: (() => void) | undefined;
  provider.respondWith((_req, res) => {
    provider.respondWith(undefined);
    send = () =>
      void res
        .writeHead(status, { 'content-type': 'application/json', ...headers })
        .end(JSON.stringify(body));
  });
  return { isAsked: () => send !== undefined, send: () => send?.() };
};
