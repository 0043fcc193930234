import { expect, test } from '@jest/globals';
import { Socket } from 'node:net';
import proxyAddr from 'proxy-addr';
import { createClientAddress } from '../../src/http/client-address.ts';

// The address for the log, held against the package with which Express decides `req.ip`.

const PEER = '10.0.0.1';
const socket = Object.defineProperty(new Socket(), 'remoteAddress', { value: PEER });

const HEADERS = [
  undefined,
  '',
  ' ',
  ',',
  '198.51.100.7',
  '198.51.100.7,203.0.113.9',
  ' 198.51.100.7 , 10.0.0.2 ',
  ',198.51.100.7,,10.0.0.2,',
  '10.0.0.4, 10.0.0.3, 10.0.0.2',
  'unknown, 10.0.0.2',
  '2001:db8::7, 10.0.0.2',
  'a'.repeat(5_000),
];
const NETWORKS = ['10.0.0.0/8'];
const trustsNetworks = proxyAddr.compile(NETWORKS);

test.each(HEADERS)('X-Forwarded-For: %j', (forwarded) => {
  const head = { headers: { 'x-forwarded-for': forwarded }, socket };
  expect(createClientAddress(undefined)(head)).toBe(PEER);
  expect(createClientAddress(NETWORKS)(head)).toBe(proxyAddr(head, trustsNetworks));
  for (const trusted of [0, 1, 2, 3, 4])
    expect([trusted, createClientAddress(trusted)(head)]).toEqual([
      trusted,
      proxyAddr(head, (_address, hops) => hops < trusted),
    ]);
});
