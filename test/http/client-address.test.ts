import { expect, test } from '@jest/globals';
import { Socket } from 'node:net';
import type { EnvironmentVariables } from '../../src/config/reader.ts';
import { clientOf, createClientAddress, createClientOf } from '../../src/http/client-address.ts';
import { LIMITS } from '../../src/http-front/limits.ts';
import { closeLater } from '../helpers/close-later.ts';
import { openRaw } from '../helpers/raw-http.ts';
import { startRig } from '../helpers/rig.ts';
import { connectionsOf } from '../helpers/server-sockets.ts';
import { eventually, waitUntil } from '../helpers/wait-until.ts';

// Whose request it is, as far as proxies are trusted, and whose connection.

const socket = Object.defineProperty(new Socket(), 'remoteAddress', { value: '10.0.0.1' });

const FORWARDED: readonly [number | string[] | undefined, string | undefined, string][] = [
  [undefined, '198.51.100.7', '10.0.0.1'],
  [1, undefined, '10.0.0.1'],
  [1, ' 203.0.113.9 , 198.51.100.7 ', '198.51.100.7'],
  [2, '203.0.113.9,198.51.100.7', '203.0.113.9'],
  [3, '203.0.113.9,198.51.100.7', '203.0.113.9'],
  [['10.0.0.0/8'], '203.0.113.9, 198.51.100.7, 10.0.0.2', '198.51.100.7'],
  [['10.0.0.0/8'], 'unknown, 10.0.0.2', 'unknown'],
  [1, `${'x,'.repeat(7_000)} 198.51.100.7`, '198.51.100.7'],
  [1, 'x'.repeat(600), '10.0.0.1'],
  [2, `${'x'.repeat(600)}, 198.51.100.7`, '198.51.100.7'],
  [['10.0.0.0/8'], `203.0.113.9, ${'10.0.0.2,'.repeat(4)}10.0.0.3`, '10.0.0.2'],
];
test.each(
  FORWARDED.map(([trustProxy, forwarded, address]) => ({
    trustProxy,
    forwarded,
    shown: String(forwarded).replace(/^(.{20}).{50,}$/, '$1...'),
    address,
  })),
)(
  'with TRUST_PROXY $trustProxy and X-Forwarded-For $shown, the log has $address',
  ({ trustProxy, forwarded, address }) => {
    const head = { headers: { 'x-forwarded-for': forwarded }, socket };
    expect(createClientAddress(trustProxy)(head)).toBe(address);
  },
);

test.each([
  [undefined, '10.0.0.1', false],
  [1, '10.0.0.1', true],
  [['10.0.0.0/8'], '10.0.0.1', true],
  [['10.0.0.0/8'], '11.0.0.1', false],
  [['loopback'], '::1', true],
])('with TRUST_PROXY %j, %s is a proxy: %s', (trustProxy, address, isProxy) => {
  expect(createClientOf(trustProxy)(address) === undefined).toBe(isProxy);
});

test.each([
  ['198.51.100.7', '198.51.100.7'],
  ['::ffff:198.51.100.7', '198.51.100.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8::7', '2001:db8:0:0'],
  ['2001:db8:1:2::7', '2001:db8:1:2'],
  ['::1', '0:0:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
])('connections from %s count for %s', (address, client) => {
  expect(clientOf(address)).toBe(client);
});

test('a trusted proxy may have more connections than any other address', async () => {
  const count = LIMITS.connectionsPerAddress + 1;
  const connect = async (env: EnvironmentVariables) => {
    const { url } = await startRig({ env });
    const clients = await Promise.all(Array.from({ length: count }, () => openRaw(url)));
    closeLater(() => clients.forEach((client) => client.socket.destroy()));
    return { url, clients };
  };
  const { clients } = await connect({ TRUST_PROXY: '192.0.2.0/24' });
  await eventually(() => clients.some((client) => client.socket.destroyed));
  const { url } = await connect({ TRUST_PROXY: '127.0.0.0/8' });
  const open = await waitUntil(
    'all connections',
    () => connectionsOf(url),
    (n) => n === count,
  );
  expect(open).toBe(count);
});
