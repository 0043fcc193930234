import { createServer } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import axe from 'axe-core';
import express from 'express';
import type { Browser, BrowserContextOptions, Page, Request, Route } from 'playwright-core';
import { startDemoPage, type DemoPage } from '../../examples/demo-page/server.ts';
import { launchBrowser } from './browser.ts';
import { ALL_BANKS } from './emulate.ts';
import { listenOn } from './free-port.ts';
import { advanceToLoad, nextLoad, openRig, type Rig, type RigOptions } from './rig.ts';
import { eventually } from './wait-until.ts';

// The bank picker in Chromium, on another origin than the service, which loads its list from the
// emulator.

type State = 'loading' | 'loaded' | 'failed';

const DAY_MS = 86_400_000;

/**
 * Call it inside a describe: it registers what runs before and after its tests. Each begins with
 * the service running.
 */
export const createStage = (): Stage => {
  const stage = new Stage();
  beforeAll(() => stage.setUp());
  afterAll(() => stage.tearDown());
  beforeEach(() => stage.run());
  afterEach(() => stage.clear());
  return stage;
};

class Stage {
  rig!: Rig;
  page!: Page;
  /** The requests of the page since it was opened. */
  requests: Request[] = [];
  /** The browser's console: policy violations, script errors. */
  complaints: string[] = [];
  private browser!: Browser;
  /** The server of the demo's page. */
  picker!: DemoPage;
  private siteUrl = '';
  private shown = { folder: '', html: '' };
  private holdsTimeFromStart = false;
  /**
   * The files of a folder, and at other paths the test's page. What Playwright fulfils itself may
   * not ask loopback addresses.
   */
  private readonly site = createServer(
    express()
      .use((req, res, next) => express.static(this.shown.folder)(req, res, next))
      .use((_req, res) => res.send(this.shown.html)),
  );

  async setUp(): Promise<void> {
    this.picker = await startDemoPage(() => `${this.rig.url}/banks`);
    this.siteUrl = `http://127.0.0.1:${await listenOn(this.site)}`;
    this.browser = await launchBrowser();
  }
  async tearDown(): Promise<void> {
    await this.browser.close();
    this.site.close();
    this.site.closeAllConnections();
    await this.picker.close();
  }
  async run({ env, emulator, ...options }: RigOptions = {}): Promise<void> {
    const origins = `${this.picker.url},${this.siteUrl}`;
    this.rig = await openRig({
      env: { CORS_ORIGINS: origins, ...env },
      emulator: { banks: ALL_BANKS, ...emulator },
      ...options,
    });
  }
  async clear(): Promise<void> {
    this.holdsTimeFromStart = false;
    await Promise.all(this.browser.contexts().map((context) => context.close()));
    await this.rig.close();
  }

  /** Starts the service anew; by default it allows the page's origin. */
  async start(options: RigOptions): Promise<void> {
    await this.rig.close();
    await this.run(options);
  }
  /** Starts it during an outage, without a list. */
  startCold(): Promise<void> {
    return this.start({ before: (emulator) => emulator.behave('unavailable') });
  }
  /** Passes `days` of an outage that began right after the first load. */
  async passOutage(days: number): Promise<void> {
    const { service, emulator, clock } = this.rig;
    await eventually(() => service.list.served() !== undefined);
    await emulator.behave('unavailable');
    await nextLoad(this.rig);
    clock.advance(days * DAY_MS);
    await eventually(() => service.list.status().state === 'stale');
  }
  /** Ends an outage: the service has a list. */
  async repair(): Promise<void> {
    this.rig.emulator.respondWith(undefined);
    await this.rig.emulator.behave('healthy');
    await advanceToLoad(this.rig);
    await eventually(() => this.rig.service.list.served() !== undefined);
  }

  private async newPage(context?: BrowserContextOptions): Promise<void> {
    this.page = await this.browser.newPage({ locale: 'pt-BR', ...context });
    this.page.setDefaultTimeout(10_000);
    this.requests = [];
    this.complaints = [];
    const complain = (text: string): void => void this.complaints.push(text);
    this.page.on('request', (request) => void this.requests.push(request));
    this.page.on(
      'console',
      (message) => void (message.type() === 'error' && complain(message.text())),
    );
    this.page.on('pageerror', (error) => complain(error.message));
    if (this.holdsTimeFromStart) await this.holdTime();
  }
  /** A first visit, with an empty cache: of the picker's page, unless another address is given. */
  async open(context?: BrowserContextOptions, url = this.picker.url): Promise<void> {
    await this.newPage(context);
    await this.page.goto(url);
  }
  /**
   * Opens a page of the test's own, on a third origin, which has the element at
   * `/bank-picker/bank-picker.js`.
   */
  async openPage(html: string, context?: BrowserContextOptions): Promise<void> {
    this.shown = { folder: 'packages', html };
    await this.open(context, this.siteUrl);
  }
  /** The same in a browser page that is open already. */
  async goTo(html: string): Promise<void> {
    this.shown = { folder: 'packages', html };
    await this.page.goto(this.siteUrl);
  }
  /** Opens the site in `folder`, which expects the service where the examples do. */
  async openSite(folder: string): Promise<void> {
    this.shown = { folder, html: '' };
    await this.newPage();
    const toService = (route: Route) => route.continue({ url: `${this.rig.url}/banks` });
    await this.page.route('http://localhost:3000/banks', toService);
    await this.page.goto(this.siteUrl);
  }
  /** A visit of the picker's page until the list is loaded. */
  async visit(context?: BrowserContextOptions): Promise<void> {
    await this.open(context);
    await this.settled('loaded');
  }

  /** The page's requests for the list. */
  get listRequests(): Request[] {
    return this.requests.filter((request) => request.url() === `${this.rig.url}/banks`);
  }
  /** Evaluates an expression in which `picker` is the element. */
  ask<Answer>(expression: string): Promise<Answer> {
    return this.page.evaluate(
      `(() => { const picker = document.querySelector('bank-picker'); return ${expression}; })()`,
    );
  }
  settled(state: State): Promise<unknown> {
    return this.ask(`new Promise((resolve) => {
      const check = () => picker.matches(':state(${state})') && resolve();
      for (const type of ['load', 'error']) picker.addEventListener(type, check);
      check();
    })`);
  }
  box = () => this.page.getByRole('combobox');
  options = () => this.page.getByRole('option');
  /** The codes of the options shown, from the top. */
  codes = () => this.page.locator('[role=option] .code').allTextContents();
  /** Types `text` into the empty field. */
  async find(text: string): Promise<string[]> {
    await this.box().fill(text);
    return this.codes();
  }
  /**
   * Stops the page's time, also after a reload: from here on only `page.clock.runFor()` moves it.
   */
  async holdTime(): Promise<void> {
    await this.page.clock.install();
    await this.page.clock.pauseAt(Date.now() + DAY_MS);
  }
  /** The same for the pages that the test opens from now on, as long as they are open. */
  holdTimeFromStart(): void {
    this.holdsTimeFromStart = true;
  }
  /** Moves the page's time until the picker leaves `state`. */
  async leave(state: State): Promise<void> {
    await eventually(async () => {
      const isLeft = await this.ask<boolean>(`!picker.matches(':state(${state})')`);
      if (!isLeft) await this.page.clock.runFor(1_000);
      return isLeft;
    });
  }
  /** What axe finds wrong, in dark and in light. */
  async violations(): Promise<unknown[]> {
    await this.page.evaluate(axe.source);
    const found: unknown[] = [];
    for (const colorScheme of ['dark', 'light'] as const) {
      await this.page.emulateMedia({ colorScheme });
      found.push(
        await this.page.evaluate(`axe.run({ resultTypes: ['violations'] }).then(({ violations }) =>
          violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`),
      );
    }
    return found.flat();
  }
  /**
   * What assistive technology finds on the page: a line for each part of interest, such as
   * `combobox "Bank" [expanded]`.
   */
  async tree(): Promise<string[]> {
    const snapshot = await this.page.locator('body').ariaSnapshot();
    return (
      snapshot.match(/(?<=^ *- )(?:combobox|listbox|group|option|alert|button)\b.*?(?=:?$)/gm) ?? []
    );
  }
}
