import { Agent, request } from 'undici';
import type { Bench } from './bench.ts';
import { freePort } from './processes.ts';
import { startService } from './service.ts';

/** A flood of requests before the first list: how many upstream calls they cause. */
export const timeCold = async ({ emulator }: Bench): Promise<object> => {
  await emulator.behave('slow', { delayMs: 3_000 });
  const before = emulator.listCalls();
  const port = await freePort();
  const running = await startService(emulator, port);
  const result = await floodCold(`http://127.0.0.1:${port}`, { requests: 50_000, connections: 1_000 });
  await running.stop();
  await emulator.behave('healthy');
  return { ...result, upstreamCalls: emulator.listCalls() - before };
};

/** Sends all requests at once as soon as the service listens; `good` counts the responses with status 200. */
const floodCold = async (
  origin: string,
  { requests, connections }: { readonly requests: number; readonly connections: number },
): Promise<{ requests: number; good: number }> => {
  const dispatcher = new Agent({ connections, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });
  const path = `${origin}/banks`;
  while (!(await request(`${origin}/healthz`).catch(() => undefined)));
  let good = 0;
  await Promise.all(
    Array.from({ length: requests }, async () => {
      const { statusCode, body } = await request(path, { dispatcher, headers: { 'accept-encoding': 'br' } });
      await body.dump();
      if (statusCode === 200) good += 1;
    }),
  );
  await dispatcher.close();
  return { requests, good };
};
