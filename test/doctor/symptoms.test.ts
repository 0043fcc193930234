import { expect, test } from '@jest/globals';
import { LoadError } from '../../src/banks/load-error.ts';
import { connectionFaultOf } from '../../src/provider/errors.ts';
import { parseConfig } from '../../src/config/config.ts';
import { diagnose } from '../../src/doctor/diagnosis.ts';
import { LOAD_SYMPTOMS } from '../../src/doctor/load-symptoms.ts';
import type { Observation } from '../../src/doctor/observe.ts';
import {
  PORT_SYMPTOMS,
  REDIS_SYMPTOMS,
  SNAPSHOT_SYMPTOMS,
} from '../../src/doctor/surroundings-symptoms.ts';
import { findSymptom, type Symptom } from '../../src/doctor/symptoms.ts';
import { SANDBOX } from '../helpers/sandbox.ts';

// What the codes of Node, OpenSSL and Redis mean, also those that no test can cause. That the doctor
// looks them up is in the tests beside this one.

/** What the texts would name does not matter here. */
const causeOf = (rows: readonly Symptom<never>[], code: string): string => {
  const { likely = '' } = findSymptom(rows, connectionFaultOf(code) ?? code) ?? {};
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a text may name anything
  return typeof likely === 'string' ? likely : likely({} as never);
};

test.each<
  [what: string, rows: readonly Symptom<never>[], causes: Readonly<Record<string, RegExp>>]
>([
  [
    'Redis',
    REDIS_SYMPTOMS,
    {
      'ECONNREFUSED ENOTFOUND EAI_AGAIN': /nothing listens at/,
      'TIMEOUT ETIMEDOUT EHOSTUNREACH ENETUNREACH': /a firewall drops/,
      'NOAUTH WRONGPASS': /the user or the password is missing or wrong/,
      NOPERM: /this user may not do that/,
      'READONLY MOVED CROSSSLOT': /this is a replica/,
      'OOM MISCONF': /is full, or cannot save its data/,
      'LOADING MASTERDOWN CLUSTERDOWN TRYAGAIN': /is starting or failing over/,
      'CERT_HAS_EXPIRED CERT_NOT_YET_VALID': /has expired or is not valid yet/,
      ERR_TLS_CERT_ALTNAME_INVALID: /for another name/,
      'SELF_SIGNED_CERT_IN_CHAIN DEPTH_ZERO_SELF_SIGNED_CERT': /an authority that Node does not/,
      'UNABLE_TO_GET_ISSUER_CERT UNABLE_TO_GET_ISSUER_CERT_LOCALLY': /an authority that/,
      UNABLE_TO_VERIFY_LEAF_SIGNATURE: /an authority that/,
      ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: /requires a client certificate/,
      ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: /is not Redis or Valkey 6 or newer/,
      'ERR ECONNRESET': /is not Redis or Valkey 6 or newer/,
    },
  ],
  [
    'the snapshot file',
    SNAPSHOT_SYMPTOMS,
    {
      'EACCES EPERM EROFS': /this user may not read and write/,
      'ENOSPC EIO': /is full or fails/,
    },
  ],
  [
    'a port',
    PORT_SYMPTOMS,
    {
      EADDRINUSE: /another program uses/,
      'EACCES EPERM': /this user may not listen/,
      'EADDRNOTAVAIL ENOTFOUND': /is not an address of this machine/,
    },
  ],
  [
    'the address of the provider',
    LOAD_SYMPTOMS.address,
    {
      'ENOTFOUND EAI_AGAIN': /DNS knows no host/,
      ECONNREFUSED: /nothing listens at/,
      'EHOSTUNREACH ENETUNREACH ETIMEDOUT UND_ERR_CONNECT_TIMEOUT': /there is no route/,
    },
  ],
  [
    'the certificate of the provider',
    LOAD_SYMPTOMS.TLS,
    {
      'CERT_HAS_EXPIRED CERT_NOT_YET_VALID': /has expired or is not valid yet/,
      ERR_TLS_CERT_ALTNAME_INVALID: /for another name/,
      'SELF_SIGNED_CERT_IN_CHAIN DEPTH_ZERO_SELF_SIGNED_CERT': /an authority that Node does not/,
      'UNABLE_TO_GET_ISSUER_CERT UNABLE_TO_GET_ISSUER_CERT_LOCALLY': /an authority that Node/,
      UNABLE_TO_VERIFY_LEAF_SIGNATURE: /an authority that Node does not know/,
    },
  ],
  [
    'the token',
    LOAD_SYMPTOMS.token,
    {
      invalid_grant: /rejects the id or the secret, or does not allow/,
      unauthorized_client: /which may not use the client-credentials grant/,
      unsupported_grant_type: /does not offer the client-credentials grant/,
      invalid_scope: /requires a scope, or does not know this one/,
      invalid_request: /something is missing in the request/,
    },
  ],
])('the codes about %s have their causes', (_what, rows, causes) => {
  for (const [codes, cause] of Object.entries(causes))
    for (const code of codes.split(' '))
      expect([code, causeOf(rows, code)]).toEqual([code, expect.stringMatching(cause)]);
});

test('a connection that the system refuses is no sign that something listens there', () => {
  const config = parseConfig({ ...SANDBOX, PROVIDER_SANDBOX_BASE_URL: 'https://localhost' });
  const failedStep = (reasonCode: string): string | undefined => {
    const outcome = new LoadError('unreachable', 'no connection to the provider', { reasonCode });
    const observation: Observation = {
      contacts: { 'the provider': {} },
      response: undefined,
      endedAfterMs: 3,
      outcome,
      tokenVariable: 'PROVIDER_ACCESS_TOKEN',
    };
    const { text } = diagnose(config, observation, [], { tried: [], working: undefined });
    return /^FAIL +(\S+)/m.exec(text)?.[1];
  };
  for (const code of ['EACCES', 'EADDRNOTAVAIL', 'EPERM', 'EMFILE', ''])
    expect([code, failedStep(code)]).toEqual([code, 'address']);
  for (const code of ['EPROTO', 'ECONNRESET', 'ERR_SSL_WRONG_VERSION_NUMBER', 'INVALID_PURPOSE'])
    expect([code, failedStep(code)]).toEqual([code, 'TLS']);
});

test('after an unexpected error the steps that were seen are passed, and the next one has failed', () => {
  const config = parseConfig({ ...SANDBOX, PROVIDER_SANDBOX_BASE_URL: 'http://localhost' });
  const connection = { address: '127.0.0.1', isThroughProxy: false, afterMs: 1, tls: undefined };
  const head = { status: 200, afterMs: 2, clockAheadMs: undefined };
  const response = {
    status: 200,
    headers: {},
    body: Buffer.from('[]'),
  };
  const passed = [
    {},
    { contact: {} },
    { contact: { connection } },
    { contact: { connection, head } },
    { contact: { connection, head }, response },
  ].map((seen) => {
    const observation: Observation = {
      contacts: seen.contact ? { 'the provider': seen.contact } : {},
      response: seen.response,
      endedAfterMs: 3,
      outcome: new LoadError('internal', 'unexpected error while loading'),
      tokenVariable: 'PROVIDER_ACCESS_TOKEN',
    };
    const { text, works } = diagnose(config, observation, [], { tried: [], working: undefined });
    expect([works, text]).toEqual([false, expect.stringContaining('unexpected error')]);
    return [...text.matchAll(/^(?:ok|(FAIL)) +(\S+)/gm)].map(([, fails, name]) =>
      fails ? `but ${name}` : name,
    );
  });
  expect(passed.map((names) => names.join(' '))).toEqual([
    'configuration but token',
    'configuration token but address',
    'configuration token address TLS but status',
    'configuration token address TLS status but content',
    'configuration token address TLS status content but list',
  ]);
});
