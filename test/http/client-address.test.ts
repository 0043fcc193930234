import { expect, test } from '@jest/globals';
import { Socket } from 'node:net';
import { createClientAddress } from '../../src/http/client-address.ts';

// Whose request it is, as far as proxies are trusted. That the log has it: hot-path.test.ts.

const socket = Object.defineProperty(new Socket(), 'remoteAddress', { value: '10.0.0.1' });

const FORWARDED: readonly [
  number | string[] | undefined,
  string | undefined,
  string | undefined,
][] = [
  [undefined, '198.51.100.7', '10.0.0.1'],
  [1, undefined, '10.0.0.1'],
  [1, ' 203.0.113.9 , 198.51.100.7 ', '198.51.100.7'],
  [2, '203.0.113.9,198.51.100.7', '203.0.113.9'],
  [3, '203.0.113.9,198.51.100.7', '203.0.113.9'],
  [['10.0.0.0/8'], '203.0.113.9, 198.51.100.7, 10.0.0.2', '198.51.100.7'],
  [['11.0.0.0/8'], '203.0.113.9', '10.0.0.1'],
  [['10.0.0.0/8'], `203.0.113.9, ${'10.0.0.2,'.repeat(4)}10.0.0.3`, '10.0.0.2'],
  // The port that some proxies add is no part of the address.
  [1, '198.51.100.7:51000', '198.51.100.7'],
  [1, '[2001:db8::7]:51000', '2001:db8::7'],
  [1, '2001:db8::7', '2001:db8::7'],
  // What is no IP address is no address.
  [1, 'unknown', undefined],
  [1, '', undefined],
  [1, '198.51.100.7\u0085', undefined],
  [2, '203.0.113.9, \u009b31m', undefined],
  [['10.0.0.0/8'], '203.0.113.9, unknown, 10.0.0.2', undefined],
  // Of a long list only the end counts.
  [1, `${'x,'.repeat(7_000)} 198.51.100.7`, '198.51.100.7'],
  [1, 'x'.repeat(600), '10.0.0.1'],
  [2, `${'x'.repeat(600)}, 198.51.100.7`, '198.51.100.7'],
];
test.each(
  FORWARDED.map(([trustProxy, forwarded, address]) => ({
    trustProxy,
    forwarded,
    shown: String(forwarded).replace(/^(.{20}).{50,}$/, '$1...'),
    address,
  })),
)(
  'with TRUST_PROXY $trustProxy and X-Forwarded-For $shown, the client is $address',
  ({ trustProxy, forwarded, address }) => {
    const head = { headers: { 'x-forwarded-for': forwarded }, socket };
    expect(createClientAddress(trustProxy)(head)).toBe(address);
  },
);
