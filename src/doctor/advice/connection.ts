import type { Contact } from '../observe.ts';
import { ms } from '../units.ts';
import type { Advice } from './evidence.ts';

// Why there is no connection or no answer, by the codes that Node and OpenSSL give.

export interface Endpoint {
  readonly url: URL;
  /** The variable that holds the address. */
  readonly variable: string;
}

type Explain = (endpoint: Endpoint) => Advice;

export const adviseOnConnection = (
  { connection, connectError = '', lostBy = '' }: Contact,
  endpoint: Endpoint,
): Advice => {
  const alert = explainAlert(connection ? lostBy : connectError);
  if (alert) return alert;
  if (connection) return connectionLost(endpoint);
  const explain = Object.hasOwn(BY_CODE, connectError) ? BY_CODE[connectError] : undefined;
  if (explain) return explain(endpoint);
  return endpoint.url.protocol === 'https:' ? handshakeFailed(endpoint) : connectionFailed(endpoint);
};

export const adviseOnTimeout = ({ connection, head }: Contact): Advice => {
  if (!connection) {
    return {
      step: 'address',
      likely: 'a firewall silently drops what is sent there, or the DNS server does not answer',
      next: 'ask your network team to open the route to that address',
    };
  }
  const next = 'raise PROVIDER_TIMEOUT; if that does not help, ask the provider';
  return head
    ? {
        step: 'content',
        likely: `the answer began after ${ms(head.afterMs)} and did not end: the provider or the network is slow`,
        next,
      }
    : {
        step: 'status',
        likely: 'the provider accepted the request and did not begin to answer: it is slow, or it hangs',
        next,
      };
};

export const PROXY_UNREACHABLE: Advice = {
  step: 'address',
  likely: 'the address of the proxy is wrong, the proxy is down, or a firewall is in between',
  next: 'check HTTPS_PROXY or HTTP_PROXY; if this host needs no proxy, add it to NO_PROXY',
};

export const PROXY_REFUSED: Advice = {
  step: 'address',
  likely: 'the proxy does not accept the user and password, or does not allow this host or port',
  next: 'check the user and password in HTTPS_PROXY or HTTP_PROXY; then ask who runs the proxy to allow this host',
};

const unknownHost: Explain = ({ url, variable }) => ({
  step: 'address',
  likely: `DNS knows no host ${url.host}`,
  next: `look for a typing mistake in ${variable}; inside a container, check its DNS`,
});

const noDns: Explain = () => ({
  step: 'address',
  likely: 'the DNS server does not answer',
  next: 'check the DNS and the network of this machine or container',
});

const refused: Explain = ({ url: { hostname, port, protocol }, variable }) => ({
  step: 'address',
  likely: `nothing listens on port ${port || (protocol === 'https:' ? '443' : '80')} of ${hostname}`,
  next: `check the port in ${variable}; inside a container, 127.0.0.1 and localhost are the container itself`,
});

const noRoute: Explain = ({ url }) => ({
  step: 'address',
  likely: 'there is no route: a firewall, a VPN that is not connected, or an address of another network',
  next: `ask your network team to open the route to ${url.host}`,
});

const outOfDates: Explain = () => ({
  step: 'TLS',
  likely: "the certificate has expired or is not valid yet, or this machine's clock is wrong",
  next: 'check the clock; then ask the provider to renew its certificate',
});

const wrongName: Explain = ({ url, variable }) => ({
  step: 'TLS',
  likely: `the certificate is for another name than ${url.hostname}`,
  next: `set ${variable} to the name in the provider's certificate`,
});

/** What a TLS alert by which a server refuses a client means. In TLS 1.3 it comes once the connection is open. */
const explainAlert = (code: string): Advice | undefined => {
  const [, alert = ''] = /_ALERT_(\w+)$/.exec(code) ?? [];
  if (/^(?:CERTIFICATE_REQUIRED|HANDSHAKE_FAILURE)$/.test(alert)) return CLIENT_CERTIFICATE_REQUIRED;
  if (alert === 'CERTIFICATE_EXPIRED') return CLIENT_CERTIFICATE_EXPIRED;
  return /CERTIFICATE|^(?:UNKNOWN_CA|ACCESS_DENIED|DECRYPT_ERROR)$/.test(alert)
    ? CLIENT_CERTIFICATE_REFUSED
    : undefined;
};

const CLIENT_CERTIFICATE_REQUIRED: Advice = {
  step: 'TLS',
  likely: 'the server requires a client certificate (mutual TLS)',
  next: 'set PROVIDER_TLS_CERT_FILE and PROVIDER_TLS_KEY_FILE to the pair that the provider issued or registered',
};

const CLIENT_CERTIFICATE_EXPIRED: Advice = {
  step: 'TLS',
  likely: 'the client certificate has expired, for the clock of the server',
  next: 'get a new certificate and replace the files of PROVIDER_TLS_CERT_FILE and PROVIDER_TLS_KEY_FILE',
};

const CLIENT_CERTIFICATE_REFUSED: Advice = {
  step: 'TLS',
  likely:
    'the server does not accept the client certificate: from another authority, not registered, or revoked',
  next: 'check that PROVIDER_TLS_CERT_FILE has the certificate for this environment, with its intermediate ones; ask the provider',
};

const unknownAuthority: Explain = () => ({
  step: 'TLS',
  likely:
    'the certificate comes from an authority that Node does not know: a private one, or a proxy that inspects TLS',
  next: "set PROVIDER_TLS_CA_FILE to a PEM file with that authority's certificate; never disable the check",
});

const handshakeFailed: Explain = ({ variable }) => ({
  step: 'TLS',
  likely:
    'the server has no TLS version or cipher in common with this machine: it needs TLS 1.2 or 1.3, or does not speak TLS',
  next: `check the scheme and port of ${variable}`,
});

const connectionFailed: Explain = ({ variable }) => ({
  step: 'address',
  likely: 'the connection failed before anything was sent',
  next: `check ${variable}, and the network in between`,
});

const proxyCannotConnect: Explain = ({ url, variable }) => ({
  step: 'address',
  likely: `the proxy cannot find or reach ${url.host}`,
  next: `check ${variable}; if this host needs no proxy, add it to NO_PROXY; then ask who runs the proxy`,
});

const connectionLost: Explain = ({ url, variable }) => ({
  step: 'status',
  likely:
    url.protocol === 'https:'
      ? 'the server closes the connection without an answer: it requires a client certificate or refuses this one, or it crashes'
      : 'the server closes the connection without an answer: a port that wants https:, a gateway, or a crash',
  next: `check the scheme and port of ${variable}; then ask the operator of ${url.host}`,
});

const BY_CODE: Readonly<Record<string, Explain>> = {
  PROXY_CANNOT_CONNECT: proxyCannotConnect,
  ENOTFOUND: unknownHost,
  EAI_AGAIN: noDns,
  ECONNREFUSED: refused,
  EHOSTUNREACH: noRoute,
  ENETUNREACH: noRoute,
  ETIMEDOUT: noRoute,
  UND_ERR_CONNECT_TIMEOUT: noRoute,
  CERT_HAS_EXPIRED: outOfDates,
  CERT_NOT_YET_VALID: outOfDates,
  ERR_TLS_CERT_ALTNAME_INVALID: wrongName,
  SELF_SIGNED_CERT_IN_CHAIN: unknownAuthority,
  DEPTH_ZERO_SELF_SIGNED_CERT: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownAuthority,
};
