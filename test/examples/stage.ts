import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, jest } from '@jest/globals';
import axe from 'axe-core';
import type { Browser, BrowserContextOptions, Page, Request } from 'playwright-core';
import { startBankPicker, type BankPicker } from '../../examples/bank-picker/server.ts';
import { launchBrowser } from '../kit/browser.ts';
import { listenOn } from '../kit/free-port.ts';
import { eventually, startRig, type Rig, type RigOptions } from '../kit/rig.ts';

// The bank picker in Chromium, on another origin than the service, which loads its list from the emulator.

export type State = 'loading' | 'loaded' | 'failed';

export interface PageOptions {
  readonly context?: BrowserContextOptions;
  readonly headers?: Record<string, string>;
}

const DAY_MS = 86_400_000;

/** A site that has copied the element's folder. Pages that Playwright fulfils itself may not ask loopback addresses. */
const startHost = async () => {
  let page: { html: string; headers: Record<string, string> } = { html: '', headers: {} };
  const server = createServer((req, res) => {
    const [, name] = /^\/element\/([\w-]+\.js)$/.exec(req.url ?? '') ?? [];
    if (!name)
      return void res
        .writeHead(200, { 'content-type': 'text/html; charset=utf-8', ...page.headers })
        .end(page.html);
    res.writeHead(200, { 'content-type': 'text/javascript' });
    res.end(readFileSync(`examples/bank-picker/element/${name}`));
  });
  return {
    url: `http://127.0.0.1:${await listenOn(server)}`,
    show: (html: string, headers: Record<string, string> = {}): void => {
      page = { html, headers };
    },
    close: (): void => {
      server.close();
      server.closeAllConnections();
    },
  };
};

/** Call it inside a describe: it registers what runs before and after its tests. Each begins with the service running. */
export const createStage = () => {
  let browser: Browser;
  let picker: BankPicker;
  let host: Awaited<ReturnType<typeof startHost>>;
  let rig: Rig;
  let page: Page;
  let requests: Request[] = [];
  let complaints: string[] = [];

  const run = async ({ env, ...options }: RigOptions = {}): Promise<void> => {
    rig = await startRig({ env: { CORS_ORIGINS: `${picker.url},${host.url}`, ...env }, ...options });
  };

  // Chromium may be slow on a busy machine; no test waits for time itself.
  jest.setTimeout(30_000);
  beforeAll(async () => {
    picker = await startBankPicker({ banksUrl: () => `${rig.url}/banks` });
    host = await startHost();
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser.close();
    host.close();
    await picker.close();
  });
  beforeEach(() => run());
  afterEach(async () => {
    await Promise.all(browser.contexts().map((context) => context.close()));
    await rig.close();
  });

  /** Starts the service anew; by default it allows the page's origin. */
  const start = async (options: RigOptions): Promise<void> => {
    await rig.close();
    await run(options);
  };
  /** Starts it during an outage, without a list. */
  const startCold = (): Promise<void> => start({ before: (emulator) => emulator.behave('unavailable') });
  /** Passes `days` of an outage that began right after the first load. */
  const passOutage = async (days: number): Promise<void> => {
    const { service, emulator, clock } = rig;
    await eventually(() => service.list.served() !== undefined);
    await emulator.behave('unavailable');
    clock.next();
    await eventually(() => service.list.status().failure !== undefined);
    clock.advance(days * DAY_MS);
    await eventually(() => service.list.status().state === 'stale');
  };
  /** Ends an outage: the service has a list. */
  const repair = async (): Promise<void> => {
    rig.emulator.respondWith(undefined);
    await rig.emulator.behave('healthy');
    rig.clock.next();
    await eventually(() => rig.service.list.served() !== undefined);
  };

  const newPage = async (context?: BrowserContextOptions): Promise<void> => {
    page = await browser.newPage({ locale: 'pt-BR', ...context });
    page.setDefaultTimeout(10_000);
    requests = [];
    complaints = [];
    page.on('request', (request) => void requests.push(request));
    page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())));
    page.on('pageerror', (error) => void complaints.push(error.message));
  };
  /** A first visit, with an empty cache: of the picker's page, unless another address is given. */
  const open = async (context?: BrowserContextOptions, url = picker.url): Promise<void> => {
    await newPage(context);
    await page.goto(url);
  };
  /** Opens a page of the test's own, on a third origin, which has the element at `/element/bank-picker.js`. */
  const openPage = async (html: string, { context, headers }: PageOptions = {}): Promise<void> => {
    await newPage(context);
    host.show(html, headers);
    await page.goto(host.url);
  };
  /** Evaluates an expression in which `picker` is the element. */
  const ask = <Answer>(expression: string): Promise<Answer> =>
    page.evaluate(
      `(() => { const picker = document.querySelector('bank-picker'); return ${expression}; })()`,
    );
  const settled = (state: State): Promise<unknown> =>
    ask(`new Promise((resolve) => {
      const check = () => picker.matches(':state(${state})') && resolve();
      for (const type of ['load', 'error']) picker.addEventListener(type, check);
      check();
    })`);
  const box = () => page.getByRole('combobox');
  /** The codes of the options shown, from the top. */
  const codes = (): Promise<string[]> => page.locator('[role=option] .code').allTextContents();

  return {
    /** The page's origin. */
    get origin() {
      return picker.url;
    },
    get rig() {
      return rig;
    },
    get page() {
      return page;
    },
    /** The requests of the page since it was opened. */
    get requests() {
      return requests;
    },
    /** Those for the list. */
    get listRequests() {
      return requests.filter((request) => request.url() === `${rig.url}/banks`);
    },
    /** The browser's console: policy violations, script errors. */
    get complaints() {
      return complaints;
    },
    start,
    startCold,
    passOutage,
    repair,
    open,
    openPage,
    ask,
    settled,
    box,
    codes,
    options: () => page.getByRole('option'),
    /** A visit until the list is loaded. */
    visit: async (context?: BrowserContextOptions): Promise<void> => {
      await open(context);
      await settled('loaded');
    },
    /** Stops the page's time, also after a reload: from here on only `page.clock.runFor()` moves it. */
    holdTime: async (): Promise<void> => {
      await page.clock.install();
      await page.clock.pauseAt(Date.now() + DAY_MS);
    },
    /** Moves the page's time until the picker leaves `state`. */
    leave: async (state: State): Promise<void> => {
      while (await ask<boolean>(`picker.matches(':state(${state})')`)) await page.clock.runFor(1_000);
    },
    /** What axe finds wrong, in dark and in light. */
    violations: async (): Promise<unknown[]> => {
      await page.evaluate(axe.source);
      const found: unknown[] = [];
      for (const colorScheme of ['dark', 'light'] as const) {
        await page.emulateMedia({ colorScheme });
        found.push(
          await page.evaluate(`axe.run({ resultTypes: ['violations'] }).then(({ violations }) =>
            violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`),
        );
      }
      return found.flat();
    },
    /** Types `text` into the empty field. */
    find: async (text: string): Promise<string[]> => {
      await box().fill(text);
      return codes();
    },
    /** What assistive technology finds on the page: a line for each part of interest, such as `combobox "Bank" [expanded]`. */
    tree: async (): Promise<string[]> => {
      const snapshot = await page.locator('body').ariaSnapshot();
      return snapshot.match(/(?<=^ *- )(?:combobox|listbox|group|option|alert|button)\b.*?(?=:?$)/gm) ?? [];
    },
  };
};
