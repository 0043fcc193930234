import { createServer } from 'node:http';
import type { Bench } from './bench.ts';
import type { Client } from './client.ts';
import { CLIENT_LIBRARIES } from './client-libraries.ts';
import { CLIENT_PROGRAMS } from './client-programs.ts';
import { inspect, measure } from './load.ts';
import { freePort, type Running } from './processes.ts';
import { PROXIES } from './proxies.ts';
import { BEHIND_LOAD_BALANCER, CHROME, warmUp } from './scenarios.ts';
import { startService, waitUntilReady } from './service.ts';

// Which clients and proxies send requests that the hot path takes. The service's own counter decides.

export interface ClientFigures {
  readonly client: string;
  readonly requests: number;
  readonly onHotPath: number;
  /** Of the service, including what it takes to accept connections; undefined for too few requests. */
  readonly cpuUs: number | undefined;
}

/** The CPU time of fewer requests says little. */
const FEWEST_REQUESTS = 500;

export const compareClients = async ({ emulator, directory, print }: Bench): Promise<ClientFigures[]> => {
  const page = await startPage();
  const [port, managementPort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}/banks`;
  const running = await startService(emulator, port, {
    CORS_ORIGINS: page.origin,
    MANAGEMENT_PORT: String(managementPort),
    MANAGEMENT_HOST: '127.0.0.1',
  });
  await waitUntilReady(url);
  await warmUp(running, url, 3, [BEHIND_LOAD_BALANCER]);
  await warmUpNodeHttp(running, url);

  const figures: ClientFigures[] = [];
  for (const client of [...PROXIES, ...CLIENT_LIBRARIES, ...CLIENT_PROGRAMS]) {
    if (!client.isInstalled()) {
      print(`${client.name}: not installed, left out`);
      continue;
    }
    const opened = await client.open({ port, url, pageUrl: page.origin, directory });
    try {
      figures.push(await measureClient(client, opened.send, running, managementPort));
    } catch (error) {
      print(`${client.name}: failed: ${String(error)}`);
    } finally {
      await opened.close();
    }
  }
  await running.stop();
  page.close();
  return figures;
};

const measureClient = async (
  { name: client, requests }: Client,
  send: (requests: number) => Promise<unknown>,
  running: Running,
  managementPort: number,
): Promise<ClientFigures> => {
  const before = await readCounters(managementPort);
  const cpuUsBefore = running.preciseCpuUs();
  await send(requests);
  const cpuUs = running.preciseCpuUs() - cpuUsBefore;
  const after = await readCounters(managementPort);
  const onHotPath = after.hotPath - before.hotPath;
  const counted = onHotPath + after.nodeHttp - before.nodeHttp;
  if (counted !== requests) throw new Error(`${counted} requests instead of ${requests}`);
  return {
    client,
    requests,
    onHotPath,
    cpuUs: requests < FEWEST_REQUESTS ? undefined : cpuUs / requests,
  };
};

const readCounters = async (managementPort: number): Promise<{ hotPath: number; nodeHttp: number }> => {
  const metrics = (await inspect(`http://127.0.0.1:${managementPort}/metrics`, {})).body.toString();
  const of = (answeredBy: string): number =>
    Number(
      new RegExp(`^banks_http_requests_total{answered_by="${answeredBy}"} (\\d+)`, 'm').exec(metrics)?.[1],
    );
  return { hotPath: of('hot_path'), nodeHttp: of('node_http') };
};

/** Otherwise the first client that is not on the hot path would pay for the compilation of Express. */
const warmUpNodeHttp = async (running: Running, url: string): Promise<void> => {
  const headers = { ...CHROME, 'Proxy-Connection': 'keep-alive' };
  await measure(running, { url, headers, differs: false, seconds: 3 });
};

/** The page of another origin that asks for the list. */
const startPage = async (): Promise<{ readonly origin: string; close(): void }> => {
  const port = await freePort();
  const server = createServer((_req, res) => {
    res.setHeader('Content-Type', 'text/html').end('<!doctype html><link rel="icon" href="data:,">');
  });
  await new Promise<void>((resolve) => void server.listen(port, '127.0.0.1', resolve));
  return { origin: `http://127.0.0.1:${port}`, close: () => void server.close() };
};

export const clientsToMarkdown = (figures: readonly ClientFigures[], node: string): string =>
  [
    `| client, ${node} | requests | on the hot path | CPU µs per request |`,
    '| --- | ---: | ---: | ---: |',
    ...figures.map(({ client, requests, onHotPath, cpuUs }) => {
      const share = `${Math.round((onHotPath / requests) * 1_000) / 10} %`;
      return `| ${client} | ${requests.toLocaleString('en')} | ${share} | ${cpuUs?.toFixed(0) ?? ''} |`;
    }),
  ].join('\n');
