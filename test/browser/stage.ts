import { afterAll, afterEach, beforeAll, jest } from '@jest/globals';
import type { Browser, BrowserContextOptions, Locator, Page, Request } from 'playwright-core';
import { startBankPicker, type BankPicker } from '../../examples/bank-picker/server.ts';
import { launchBrowser } from '../kit/browser.ts';
import { eventually, startRig, type Rig, type RigOptions } from '../kit/rig.ts';

// The bank picker in Chromium, on another origin than the service that it asks, which asks the emulator.

export interface Stage {
  /** The page's origin. */
  readonly origin: string;
  readonly rig: Rig;
  readonly page: Page;
  /** What the page has asked for since it was opened. */
  readonly requests: readonly Request[];
  /** What the browser said on its console: a violated policy, a script that failed. */
  readonly complaints: string[];
  /** Starts the service, which allows the page's origin unless told otherwise. */
  start(options?: RigOptions): Promise<void>;
  /** Starts it during an outage, without a list. */
  startCold(): Promise<void>;
  /** Starts it, and goes to the middle of an outage that has outlasted the list's TTL. */
  startStale(): Promise<void>;
  /** A first visit, with an empty cache. */
  open(context?: BrowserContextOptions, query?: string): Promise<void>;
  settled(state: 'loaded' | 'failed'): Promise<unknown>;
  /** A visit up to the moment in which the list is there. */
  visit(context?: BrowserContextOptions, query?: string): Promise<void>;
  box(): Locator;
  options(): Locator;
  /** The codes of the options shown, from the top. */
  codes(): Promise<string[]>;
  /** Types `text` into the empty field. */
  find(text: string): Promise<string[]>;
}

const HOUR_MS = 3_600_000;

/** To be called inside a describe: it registers what must run before and after its tests. */
export const createStage = (): Stage => {
  let browser: Browser;
  let picker: BankPicker;
  let rig: Rig | undefined;
  let page: Page;
  let requests: Request[] = [];
  let complaints: string[] = [];

  const running = (): Rig => {
    if (!rig) throw new Error('start() comes first');
    return rig;
  };
  const stop = async (): Promise<void> => {
    await rig?.close();
    rig = undefined;
  };

  // A Chromium on a busy machine takes its time; no test waits for time itself.
  jest.setTimeout(30_000);
  beforeAll(async () => {
    picker = await startBankPicker({ banksUrl: () => `${running().url}/banks` });
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await picker.close();
  });
  afterEach(async () => {
    await Promise.all(browser.contexts().map((context) => context.close()));
    await stop();
  });

  const stage: Stage = {
    get origin() {
      return picker.url;
    },
    get rig() {
      return running();
    },
    get page() {
      return page;
    },
    get requests() {
      return requests;
    },
    get complaints() {
      return complaints;
    },
    start: async ({ env, ...options } = {}) => {
      await stop();
      rig = await startRig({ env: { CORS_ORIGINS: picker.url, ...env }, ...options });
    },
    startCold: () => stage.start({ before: (emulator) => emulator.behave('unavailable') }),
    startStale: async () => {
      await stage.start();
      const { service, emulator, clock } = running();
      await eventually(() => service.list.served() !== undefined);
      await emulator.behave('unavailable');
      clock.next();
      await eventually(() => service.list.status().failure !== undefined);
      clock.advance(HOUR_MS);
      await eventually(() => service.list.status().state === 'stale');
    },
    open: async (context, query = '') => {
      page = await browser.newPage({ locale: 'pt-BR', ...context });
      page.setDefaultTimeout(10_000);
      requests = [];
      complaints = [];
      page.on('request', (request) => void requests.push(request));
      page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())));
      page.on('pageerror', (error) => void complaints.push(error.message));
      await page.goto(`${picker.url}/${query}`);
    },
    settled: (state) => page.waitForSelector(`#bank[data-state=${state}]`),
    visit: async (context, query) => {
      await stage.open(context, query);
      await stage.settled('loaded');
    },
    box: () => page.getByRole('combobox'),
    options: () => page.getByRole('option'),
    codes: () => page.locator('[role=option] .bp-code').allTextContents(),
    find: async (text) => {
      await stage.box().fill(text);
      return stage.codes();
    },
  };
  return stage;
};
