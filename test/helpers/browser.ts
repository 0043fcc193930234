import { chromium, type Browser } from 'playwright-core';
import { needProgram } from './needs.ts';

// A real Chromium, for tests of what pages can do.

const chrome = needProgram(
  [
    // Takes half the processor time of the others: it has no window.
    '/usr/bin/chromium-headless-shell',
    '/usr/bin/chromium',
    '/usr/bin/chromium-browser',
    '/usr/bin/google-chrome',
  ],
  "On Debian: apt-get install chromium-headless-shell; on Ubuntu, which has Chromium as a snap only, Google Chrome's package does as well",
);

/** `describe` for tests that need Chromium. */
export const describeInBrowser = chrome.describeWithIt;

/** Starts Chromium. It connects only to the pages of the test. */
export const launchBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: chrome.program,
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
