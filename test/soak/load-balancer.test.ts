import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { startEmulator, type Emulator } from '../../emulator/emulator.ts';
import type { Environment } from '../../src/config/reader.ts';
import { describeInBrowser, launchBrowser } from '../kit/browser.ts';
import { describeWithHaproxy, startHaproxy, type Haproxy } from '../kit/haproxy.ts';
import { startProcess, type ServiceProcess } from '../kit/process.ts';
import { findFreePort } from '../kit/free-port.ts';

// Outages behind the shipped load balancer, seen by a page on another origin in a real Chromium: three processes of the built
// service, HAProxy with the shipped configuration, and a provider that is killed and restarted.

const ADDRESSES = ['127.0.0.2', '127.0.0.3', '127.0.0.4'];

/** In the page: requests the list repeatedly, and records what a frontend can read from each response. */
const watch = (url: string): string => `
  window.seen = [];
  (async () => {
    for (;;) {
      const saw = await fetch(${JSON.stringify(url)}, { cache: 'no-store' }).then(
        async (response) => {
          const body = await response.json();
          if (!response.ok) return response.status + ' ' + response.headers.get('content-type') + ' ' + body.code;
          // A renewal that is late on a busy machine is not an outage.
          const [, why] = /detail=(?!renewing)(\\w+)/.exec(response.headers.get('cache-status')) ?? [];
          return response.status + ' ' + body.length + ' banks' + (why ? ', ' + why : '');
        },
        (error) => error.name,
      );
      window.seen.push(saw);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  undefined;`;

const LIST = '200 513 banks';
const OLD_LIST = '200 513 banks, unreachable';
const NO_LIST = '503 application/problem+json provider_unavailable';
const NO_REPLICA = '503 application/problem+json no_replica';

describeWithHaproxy('behind the load balancer', () =>
  describeInBrowser('a page on another origin', () => {
    let provider: Emulator;
    let replicas: ServiceProcess[];
    let haproxy: Haproxy;
    let frontend: Server;
    let browser: Browser;
    let page: Page;
    let port: number;
    let env: Environment;
    /** `Retry-After` of each 503, which a page can read only where CORS exposes it. */
    let retryAfters: (string | undefined)[];

    beforeEach(async () => {
      frontend = createServer((_req, res) => {
        res.setHeader('Content-Type', 'text/html');
        res.end('<!doctype html><link rel="icon" href="data:,"><title>A frontend</title>');
      }).listen(0, '127.0.0.1');
      await once(frontend, 'listening');
      const address = frontend.address();
      const frontendUrl = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
      provider = await startEmulator();
      port = await findFreePort();
      env = {
        PORT: String(port),
        PROVIDER_ENVIRONMENT: 'sandbox',
        PROVIDER_SANDBOX_BASE_URL: provider.baseUrl,
        PROVIDER_ACCESS_TOKEN: 'emulator-access-token',
        BANK_FIELDS: 'code,ispb,name',
        CORS_ORIGINS: frontendUrl,
        TRUST_PROXY: '1',
        CACHE_TTL: '1s',
        CACHE_MAX_STALE: '4s',
      };
      replicas = [];
      retryAfters = [];
      browser = await launchBrowser();
      page = await browser.newPage();
      page.on('response', (response) => {
        if (response.status() === 503) retryAfters.push(response.headers()['retry-after']);
      });
      await page.goto(frontendUrl);
    });
    afterEach(async () => {
      await browser.close();
      await Promise.all(replicas.map((replica) => replica.end('SIGKILL')));
      await provider.close();
      frontend.close();
      // Last, because it was not started if a replica did not start.
      await haproxy.close();
    });

    const startReplica = async (address: string): Promise<void> =>
      void replicas.push(await startProcess({ ...env, HOST: address }));
    /** Starts all replicas, then HAProxy, and waits until that has found one. Were it first, its checks could find none. */
    const startReplicas = async (): Promise<void> => {
      await Promise.all(ADDRESSES.map(startReplica));
      haproxy = await startHaproxy(ADDRESSES, port);
      while ((await fetch(`${haproxy.url}/healthz`)).status !== 200) await setTimeout(50);
    };
    const restartProvider = async (): Promise<void> => {
      provider = await startEmulator({ port: Number(new URL(provider.baseUrl).port) });
    };

    /** What the page saw since the last call, once `isOver`: each kind of response, in order of first appearance. */
    const seenUntil = async (isOver: (seen: readonly string[]) => boolean): Promise<string[]> => {
      const all: string[] = [];
      for (let tries = 0; tries < 300; tries += 1) {
        all.push(...(await page.evaluate<string[]>('window.seen.splice(0)')));
        if (isOver(all)) {
          process.stdout.write(`${expect.getState().currentTestName}: ${count(all)}\n`);
          return [...new Set(all)];
        }
        await setTimeout(100);
      }
      throw new Error(`the page saw only ${count(all)}`);
    };
    const count = (all: readonly string[]): string =>
      [...new Set(all)].map((saw) => `${saw} (${all.filter((other) => other === saw).length})`).join(' -> ');
    /** Whether the last fifty are all `wanted`: longer than HAProxy's checks need to notice a change. */
    const settlesOn =
      (wanted: string) =>
      (seen: readonly string[]): boolean =>
        seen.length >= 50 && seen.slice(-50).every((saw) => saw === wanted);

    const isListed =
      (line: string) =>
      (seen: readonly string[]): boolean =>
        haproxy.log().includes(line) && settlesOn(NO_LIST)(seen);

    test('reads the 503 of a service that never had a list, then the list', async () => {
      await provider.behave('hang');
      await startReplicas();
      await page.evaluate(watch(`${haproxy.url}/banks`));
      while (provider.listCalls() < ADDRESSES.length) await setTimeout(10);

      // The first loads are in flight, and the page's request waits for them; then the provider dies.
      await provider.close();
      expect(await seenUntil(isListed('backend ready has no server available'))).toEqual([NO_LIST]);
      expect(retryAfters).toEqual(retryAfters.map(() => expect.stringMatching(/^[1-9]\d*$/)));

      await restartProvider();
      // Both, as long as HAProxy has not noticed which replica is ready first.
      expect((await seenUntil(settlesOn(LIST))).toSorted()).toEqual([LIST, NO_LIST]);
    });

    test('keeps reading the list in an outage, reads the 503 once it has expired, and then the list', async () => {
      await startReplicas();
      await page.evaluate(watch(`${haproxy.url}/banks`));
      await seenUntil(settlesOn(LIST));

      await provider.close();
      expect(await seenUntil((seen) => seen.includes(NO_LIST))).toEqual([LIST, OLD_LIST, NO_LIST]);
      await seenUntil(isListed('backend ready has no server available'));

      await restartProvider();
      expect((await seenUntil(settlesOn(LIST))).toSorted()).toEqual([LIST, NO_LIST]);
    });

    test('notices no replica that is killed or stopped, and reads the 503 of HAProxy when none is left', async () => {
      await startReplicas();
      const [killed, stopped, last] = replicas;
      await page.evaluate(watch(`${haproxy.url}/banks`));
      await seenUntil(settlesOn(LIST));

      await killed?.end('SIGKILL');
      expect(await seenUntil(settlesOn(LIST))).toEqual([LIST]);
      const end = stopped?.end('SIGTERM');
      expect(await seenUntil(settlesOn(LIST))).toEqual([LIST]);
      expect(await end).toBe(0);

      await last?.end('SIGKILL');
      expect(await seenUntil(settlesOn(NO_REPLICA))).toEqual([LIST, NO_REPLICA]);

      await startReplica('127.0.0.2');
      expect(await seenUntil(settlesOn(LIST))).toEqual([NO_REPLICA, LIST]);
    });
  }),
);
