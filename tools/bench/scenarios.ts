import { decode, inspect, measure, type Inspected, type RequestHeaders } from './load.ts';
import type { Running } from './processes.ts';

// What the load asks for, and the checks that a program answers it.

/** The headers of a same-origin fetch in Chromium. */
export const CHROME: RequestHeaders = {
  Connection: 'keep-alive',
  'sec-ch-ua-platform': '"Linux"',
  'User-Agent':
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36',
  'sec-ch-ua': '"Google Chrome";v="131", "Chromium";v="131", "Not_A Brand";v="24"',
  'sec-ch-ua-mobile': '?0',
  Accept: '*/*',
  'Sec-Fetch-Site': 'same-origin',
  'Sec-Fetch-Mode': 'cors',
  'Sec-Fetch-Dest': 'empty',
  Referer: 'http://127.0.0.1:3000/',
  'Accept-Encoding': 'gzip, deflate, br, zstd',
  'Accept-Language': 'pt-BR,pt;q=0.9,en-US;q=0.8,en;q=0.7',
};

const { 'Accept-Encoding': _, ...withoutEncodings } = CHROME;

export interface Scenario {
  readonly name: string;
  readonly headers: (etag: string) => RequestHeaders;
  readonly differs: boolean;
}

/**
 * Chromium's requests as a load balancer passes them on: each has another client's address, and an
 * id of its own.
 */
export const BEHIND_LOAD_BALANCER: Scenario = {
  name: 'behind a load balancer, 200 compressed',
  headers: () => CHROME,
  differs: true,
};

/** Also with another browser and cookie each time: load.lua puts them in. */
export const VARIED: Scenario = {
  name: 'varied browsers and cookies, 200 compressed',
  headers: () => ({ ...CHROME, 'User-Agent': '{browser}' }),
  differs: true,
};

export const REVALIDATION: Scenario = {
  name: 'revalidation, 304',
  headers: (etag) => ({ ...CHROME, 'If-None-Match': etag }),
  differs: false,
};

/** In all but the first two, the requests of a connection have the same bytes. */
export const SCENARIOS: readonly Scenario[] = [
  BEHIND_LOAD_BALANCER,
  VARIED,
  { name: 'browser, 200 compressed', headers: () => CHROME, differs: false },
  REVALIDATION,
  { name: 'identity, 200', headers: () => withoutEncodings, differs: false },
];

/** Node's compilers share the server's CPU: its p99 settles after four to six seconds. */
export const warmUp = async (
  running: Running,
  url: string,
  secondsEach: number,
  scenarios: readonly Scenario[] = SCENARIOS,
): Promise<void> => {
  const { etag } = await inspect(url, CHROME);
  for (const { headers, differs } of scenarios)
    await measure(running, { url, headers: headers(etag), differs, seconds: secondsEach });
};

/** The responses of a program, by scenario. */
export interface Checked {
  readonly browser: Inspected;
  readonly identity: Inspected;
  /** Bytes received in each of SCENARIOS. */
  readonly wireBytes: readonly number[];
}

/** Checks a program's responses: a proxy that has cached an error would look fast. */
export const check = async (name: string, url: string, expected?: Buffer): Promise<Checked> => {
  const forwarded = await inspect(url, {
    ...CHROME,
    'X-Forwarded-For': '198.51.100.7',
    'X-Forwarded-Proto': 'https',
    'X-Request-Id': '0123456789abcdef0123456789abcdef',
  });
  const browser = await inspect(url, CHROME);
  const identity = await inspect(url, withoutEncodings);
  const notModified = await inspect(url, { ...CHROME, 'If-None-Match': browser.etag });
  const isGood =
    forwarded.status === 200 &&
    forwarded.body.equals(browser.body) &&
    browser.status === 200 &&
    browser.encoding !== 'identity' &&
    identity.status === 200 &&
    identity.encoding === 'identity' &&
    decode(browser).equals(identity.body) &&
    (expected === undefined || expected.equals(identity.body)) &&
    notModified.status === 304 &&
    notModified.body.length === 0;
  if (!isGood) {
    const responses = [forwarded, browser, identity, notModified].map(
      ({ status, encoding, body }) => `${status} ${encoding} ${body.length} bytes`,
    );
    throw new Error(`${name} sends wrong responses: ${responses.join(', ')}`);
  }
  return {
    browser,
    identity,
    wireBytes: [forwarded, forwarded, browser, notModified, identity].map(
      ({ wireBytes }) => wireBytes,
    ),
  };
};
