import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { afterAll, afterEach, beforeAll, jest } from '@jest/globals';
import type { Browser, BrowserContextOptions, Locator, Page, Request } from 'playwright-core';
import { startBankPicker, type BankPicker } from '../../examples/bank-picker/server.ts';
import { launchBrowser } from '../kit/browser.ts';
import { eventually, startRig, type Rig, type RigOptions } from '../kit/rig.ts';

// The bank picker in Chromium, on another origin than the service, which loads its list from the emulator.

export interface Stage {
  /** The page's origin. */
  readonly origin: string;
  readonly rig: Rig;
  readonly page: Page;
  /** The requests of the page since it was opened. */
  readonly requests: readonly Request[];
  /** The browser's console: policy violations, script errors. */
  readonly complaints: string[];
  /** Starts the service, which allows the page's origin by default. */
  start(options?: RigOptions): Promise<void>;
  /** Starts it during an outage, without a list. */
  startCold(): Promise<void>;
  /** Starts it, and passes `days` of an outage that began right after the first load. */
  startOutdated(days: number): Promise<void>;
  /** A first visit, with an empty cache. */
  open(context?: BrowserContextOptions, query?: string): Promise<void>;
  /** Opens a page of the test's own, on a third origin, which has the element at `/element/bank-picker.js`. */
  openPage(html: string, options?: PageOptions): Promise<void>;
  settled(state: State): Promise<unknown>;
  /** A visit until the list is loaded. */
  visit(context?: BrowserContextOptions, query?: string): Promise<void>;
  picker(): Locator;
  box(): Locator;
  options(): Locator;
  /** The codes of the options shown, from the top. */
  codes(): Promise<string[]>;
  /** Types `text` into the empty field. */
  find(text: string): Promise<string[]>;
  /**
   * What Chromium exposes to assistive technology about the picker: a line for each node with a role of interest, such as
   * `combobox "Bank" expanded`.
   */
  tree(): Promise<string[]>;
  /** Evaluates an expression in which `picker` is the element. */
  ask<Answer>(expression: string): Promise<Answer>;
}

export type State = 'loading' | 'loaded' | 'failed';

export interface PageOptions {
  readonly context?: BrowserContextOptions;
  readonly headers?: Record<string, string>;
}

const DAY_MS = 86_400_000;

const ROLES: ReadonlySet<unknown> = new Set(['combobox', 'listbox', 'group', 'option', 'alert', 'button']);
const STATES = ['focused', 'expanded', 'selected', 'invalid', 'required', 'readonly', 'disabled'];

interface Host {
  readonly url: string;
  show(html: string, headers?: Record<string, string>): void;
  close(): Promise<void>;
}

/** A site that has copied the element's folder. Pages that Playwright fulfils itself may not ask loopback addresses. */
const startHost = async (): Promise<Host> => {
  let page: { html: string; headers: Record<string, string> } = { html: '', headers: {} };
  const server = createServer((req, res) => {
    const [, name] = /^\/element\/([\w-]+\.js)$/.exec(req.url ?? '') ?? [];
    if (name) {
      res.writeHead(200, { 'content-type': 'text/javascript' });
      res.end(readFileSync(`examples/bank-picker/element/${name}`));
      return;
    }
    res.writeHead(200, { 'content-type': 'text/html; charset=utf-8', ...page.headers }).end(page.html);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    show: (html, headers = {}) => {
      page = { html, headers };
    },
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
};

interface Node {
  readonly role?: { readonly value?: unknown };
  readonly name?: { readonly value?: unknown };
  readonly value?: { readonly value?: unknown };
  readonly description?: { readonly value?: unknown };
  readonly properties?: readonly { readonly name: string; readonly value: { readonly value?: unknown } }[];
}

const lineOf = ({ role, name, value, description, properties = [] }: Node): string => {
  const states = properties.filter(
    (it) => STATES.includes(it.name) && it.value.value !== false && it.value.value !== 'false',
  );
  return [
    String(role?.value),
    JSON.stringify(name?.value ?? ''),
    ...(value?.value ? [`= ${JSON.stringify(value.value)}`] : []),
    ...(description?.value ? [`(${JSON.stringify(description.value)})`] : []),
    ...states.map((it) => it.name),
  ].join(' ');
};

/** Call it inside a describe: it registers what runs before and after its tests. */
export const createStage = (): Stage => {
  let browser: Browser;
  let picker: BankPicker;
  let host: Host;
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

  // Chromium may be slow on a busy machine; no test waits for time itself.
  jest.setTimeout(30_000);
  beforeAll(async () => {
    picker = await startBankPicker({ banksUrl: () => `${running().url}/banks` });
    host = await startHost();
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await Promise.all([picker.close(), host.close()]);
  });
  afterEach(async () => {
    await Promise.all(browser.contexts().map((context) => context.close()));
    await stop();
  });

  const newPage = async (context?: BrowserContextOptions): Promise<void> => {
    page = await browser.newPage({ locale: 'pt-BR', ...context });
    page.setDefaultTimeout(10_000);
    requests = [];
    complaints = [];
    page.on('request', (request) => void requests.push(request));
    page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())));
    page.on('pageerror', (error) => void complaints.push(error.message));
  };

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
      rig = await startRig({ env: { CORS_ORIGINS: `${picker.url},${host.url}`, ...env }, ...options });
    },
    startCold: () => stage.start({ before: (emulator) => emulator.behave('unavailable') }),
    startOutdated: async (days) => {
      await stage.start();
      const { service, emulator, clock } = running();
      await eventually(() => service.list.served() !== undefined);
      await emulator.behave('unavailable');
      clock.next();
      await eventually(() => service.list.status().failure !== undefined);
      clock.advance(days * DAY_MS);
      await eventually(() => service.list.status().state === 'stale');
    },
    open: async (context, query = '') => {
      await newPage(context);
      await page.goto(`${picker.url}/${query}`);
    },
    openPage: async (html, { context, headers } = {}) => {
      await newPage(context);
      host.show(html, headers);
      await page.goto(host.url);
    },
    settled: (state) =>
      stage.ask(`new Promise((resolve) => {
        const check = () => picker.matches(':state(${state})') && resolve();
        for (const type of ['load', 'error']) picker.addEventListener(type, check);
        check();
      })`),
    visit: async (context, query) => {
      await stage.open(context, query);
      await stage.settled('loaded');
    },
    picker: () => page.locator('bank-picker'),
    box: () => page.getByRole('combobox'),
    options: () => page.getByRole('option'),
    codes: () => page.locator('[role=option] .code').allTextContents(),
    find: async (text) => {
      await stage.box().fill(text);
      return stage.codes();
    },
    tree: async () => {
      const session = await page.context().newCDPSession(page);
      const { nodes } = await session.send('Accessibility.getFullAXTree');
      await session.detach();
      const byId = new Map(nodes.map((node) => [node.nodeId, node]));
      const inOrder = (id: string): typeof nodes => {
        const node = byId.get(id);
        return node ? [node, ...(node.childIds ?? []).flatMap(inOrder)] : [];
      };
      return inOrder(nodes[0]?.nodeId ?? '')
        .filter(({ ignored, role }) => !ignored && ROLES.has(role?.value))
        .map(lineOf);
    },
    ask: (expression) =>
      page.evaluate(
        `(() => { const picker = document.querySelector('bank-picker'); return ${expression}; })()`,
      ),
  };
  return stage;
};
