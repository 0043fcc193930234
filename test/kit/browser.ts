import { existsSync } from 'node:fs';
import { describe, expect } from '@jest/globals';
import { chromium, type Browser } from 'playwright-core';

// A real Chromium, for tests of what pages can do. If it is not installed, these tests are skipped with a message; with
// CI=true that is a failure, so that nothing is skipped unnoticed.

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

const executablePath = PLACES.find((path) => existsSync(path));

const HOW_TO_GET_IT =
  'no Chromium is installed. On Debian: apt-get install chromium; on Ubuntu, which has it as a snap only, Google ' +
  `Chrome's package does as well. Looked for ${PLACES.join(', ')}.`;

if (!executablePath) {
  // CI is not configuration of the service: it says that no test may be skipped.
  // oxlint-disable-next-line node/no-process-env
  if (process.env['CI'] === 'true') throw new Error(HOW_TO_GET_IT);
  process.stderr.write(`Every test of ${expect.getState().testPath} is skipped: ${HOW_TO_GET_IT}\n`);
}

/** `describe` for tests that need Chromium. */
export const describeInBrowser = executablePath ? describe : describe.skip;

/** Starts Chromium. It connects only to the pages of the test. */
export const launchBrowser = (): Promise<Browser> =>
  chromium.launch({
    ...(executablePath ? { executablePath } : {}),
    args: [
      '--headless',
      // Containers run tests as root, and Chromium's sandbox cannot start as root.
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
