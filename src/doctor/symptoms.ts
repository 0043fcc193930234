import type { ExchangeStep } from '../failure-kinds.ts';

// What the doctor can tell from a symptom. A table has a row for each: its key has the step and the symptoms, its text the
// likely cause and, on a line of its own, what to do next. Symptoms in capitals are codes of Node, OpenSSL, TLS and Redis.
// Words in braces are filled in.

export type AdviceTable<Step extends string> = Readonly<Record<`${Step}: ${string}`, string>>;

/** The row of `table` for `symptom` at `step`, or at any step; undefined if there is none. */
export const findRow = (table: AdviceTable<string>, symptom: string, step?: string) => {
  for (const [key, text] of Object.entries(table)) {
    const [rowStep = '', symptoms = ''] = key.split(': ');
    if ((step ?? rowStep) !== rowStep || !symptoms.split(', ').includes(symptom)) continue;
    const [likely = '', next = ''] = text.trim().split(/\n\s*/);
    return { step: rowStep, likely, next };
  }
  return undefined;
};

/** `text` with `{name}` replaced by the word of that name. */
export const fillIn = (text: string, words: Readonly<Record<string, () => string>>): string =>
  text.replaceAll(/\{(\w+)\}/g, (_, name: string) => words[name]?.() ?? '');

/** Of a failed exchange, beyond its kind. */
export const SYMPTOMS: AdviceTable<ExchangeStep> = {
  'token: unusable file': `
    the file is empty, has a second line or a space, or begins with the word Bearer
    write the token, and nothing else, into the file of PROVIDER_ACCESS_TOKEN_FILE`,
  'token: client rejected': `
    the id, the secret or the scope is wrong, or belongs to the other environment
    check PROVIDER_CLIENT_ID, PROVIDER_CLIENT_SECRET and PROVIDER_TOKEN_SCOPE with the people who issued them`,
  'token: endpoint failed': `
    the token endpoint has an internal failure, or got too many requests
    try again later, or ask the provider`,
  'token: not a token endpoint': `
    PROVIDER_TOKEN_URL is not the address of an OAuth 2.0 token endpoint
    check PROVIDER_TOKEN_URL: it needs the grant of RFC 6749 section 4.4, answered with JSON and token_type Bearer`,

  'address: ENOTFOUND': `
    DNS knows no host {host}
    look for a typing mistake in {variable}; inside a container, check its DNS`,
  'address: EAI_AGAIN': `
    the DNS server does not answer
    check the DNS and the network of this machine or container`,
  'address: ECONNREFUSED': `
    nothing listens on port {port} of {hostname}
    check the port in {variable}; inside a container, 127.0.0.1 and localhost are the container itself`,
  'address: EHOSTUNREACH, ENETUNREACH, ETIMEDOUT, UND_ERR_CONNECT_TIMEOUT': `
    there is no route: a firewall, a VPN that is not connected, or an address of another network
    ask your network team to open the route to {host}`,
  'address: connecting timed out early': `
    PROVIDER_TIMEOUT, {timeout}, is too short to connect over a network
    raise PROVIDER_TIMEOUT to some seconds (its default is 5s), and run this again`,
  'address: connecting timed out': `
    a firewall silently drops what is sent there, or the DNS server does not answer
    ask your network team to open the route to that address`,
  'address: PROXY_CANNOT_CONNECT': `
    the proxy cannot find or reach {host}
    check {variable}; if this host needs no proxy, add it to NO_PROXY; then ask who runs the proxy`,
  'address: no connection': `
    the connection failed before anything was sent
    check {variable}, and the network in between`,

  'TLS: CERT_HAS_EXPIRED, CERT_NOT_YET_VALID': `
    the certificate has expired or is not valid yet, or this machine's clock is wrong
    check the clock; then ask the provider to renew its certificate`,
  'TLS: ERR_TLS_CERT_ALTNAME_INVALID': `
    the certificate is for another name than {hostname}
    set {variable} to the name in the provider's certificate`,
  'TLS: SELF_SIGNED_CERT_IN_CHAIN, DEPTH_ZERO_SELF_SIGNED_CERT, UNABLE_TO_GET_ISSUER_CERT, UNABLE_TO_GET_ISSUER_CERT_LOCALLY, UNABLE_TO_VERIFY_LEAF_SIGNATURE': `
    the certificate comes from an authority that Node does not know: a private one, or a proxy that inspects TLS
    set PROVIDER_TLS_CA_FILE to a PEM file with that authority's certificate; never disable the check`,
  'TLS: ALERT_CERTIFICATE_REQUIRED, ALERT_HANDSHAKE_FAILURE': `
    the server requires a client certificate (mutual TLS)
    set PROVIDER_TLS_CERT_FILE and PROVIDER_TLS_KEY_FILE to the pair that the provider issued or registered`,
  'TLS: ALERT_CERTIFICATE_EXPIRED': `
    the client certificate has expired, for the clock of the server
    get a new certificate and replace the files of PROVIDER_TLS_CERT_FILE and PROVIDER_TLS_KEY_FILE`,
  'TLS: ALERT_BAD_CERTIFICATE, ALERT_UNSUPPORTED_CERTIFICATE, ALERT_CERTIFICATE_REVOKED, ALERT_CERTIFICATE_UNKNOWN, ALERT_UNKNOWN_CA, ALERT_ACCESS_DENIED, ALERT_DECRYPT_ERROR': `
    the server does not accept the client certificate: from another authority, not registered, or revoked
    check that PROVIDER_TLS_CERT_FILE has the certificate for this environment, with its intermediate ones; ask the provider`,
  'TLS: no handshake': `
    the server has no TLS version or cipher in common with this machine: it needs TLS 1.2 or 1.3, or does not speak TLS
    check the scheme and port of {variable}`,

  'status: closed over https': `
    the server closes the connection without an answer: it requires a client certificate or refuses this one, or it crashes
    check the scheme and port of {variable}; then ask the operator of {host}`,
  'status: closed over http': `
    the server closes the connection without an answer: a port that wants https:, a gateway, or a crash
    check the scheme and port of {variable}; then ask the operator of {host}`,
  'status: no answer in time': `
    the provider accepted the request and did not begin to answer: it is slow, or it hangs
    raise PROVIDER_TIMEOUT; if that does not help, ask the provider`,
  'status: not HTTP': `
    the server does not speak HTTP, or wants https:
    check the scheme and port of {variable}`,
  'status: 401 with a fixed token': `
    the token is wrong, has expired, or belongs to another environment than {environment}
    get a new token and set PROVIDER_ACCESS_TOKEN to it, without "Bearer" and without quotes`,
  'status: 401 with a file token': `
    the token is wrong, has expired, or belongs to another environment than {environment}
    write a new token, and nothing else, into the file of PROVIDER_ACCESS_TOKEN_FILE`,
  'status: 401 with a client-credentials token': `
    the token is wrong, has expired, or belongs to another environment than {environment}
    the endpoint grants tokens that the list rejects: check that PROVIDER_TOKEN_URL and PROVIDER_CLIENT_ID belong to the environment, and whether PROVIDER_TOKEN_SCOPE must name a scope`,
  'status: 403': `
    the token is valid but may not read the banks, or this machine's address is not on a list of allowed ones
    ask the provider for the right to read the banks, and whether addresses must be registered`,
  'status: 404 with a path': `
    {variable} contains a part of the path that is added to it: /api/v1/banks
    set {variable} to what comes before /api/v1/banks in the provider's documentation`,
  'status: 404': `
    there is no bank list at {banksUrl}
    set {variable} to what comes before /api/v1/banks in the provider's documentation`,
  'status: redirect': `
    a redirect, which is never followed because the token would go with it: another host, https:, or a login page
    set {variable} to the address of the API itself`,
  'status: another 4xx': `
    the provider does not accept the request, which has only a path and a token
    check {variable}; then ask the provider what the request lacks`,
  'status: another 2xx': `
    the provider accepts the request but sends no list
    ask the provider whether there is a list for this client`,

  'content: not complete in time': `
    the answer began after {headAfter} and did not end: the provider or the network is slow
    raise PROVIDER_TIMEOUT; if that does not help, ask the provider`,
  'content: too large': `
    the list is larger than PROVIDER_MAX_BODY allows after decompression, or it is not a list
    raise PROVIDER_MAX_BODY (up to 256mb) and run this again to see what it is`,
  'content: beyond a fixed limit': `
    more than 50,000 entries, an entry above 64 KiB, or more published content than PROVIDER_MAX_BODY: see above which
    check that {variable} has the list of banks, and ask the provider; of these limits only PROVIDER_MAX_BODY can be raised`,
  'content: cut short': `
    the connection ended in the middle of the answer, or its compression is damaged
    run this again; if the failure persists, ask the provider, or the operator of a proxy in between`,
  'content: web page': `
    a web page instead of the list: a login, a maintenance page, or a gateway in front of the API
    set {variable} to the address of the API itself; if it is right, ask the provider`,
  'content: wrong label': `
    the content is JSON, but its Content-Type says otherwise
    ask the provider to send application/json in UTF-8: error pages have such wrong labels`,
  'content: not UTF-8': `
    the text has another encoding than UTF-8, such as ISO-8859-1
    ask the provider for UTF-8 (RFC 8259 section 8.1)`,
  'content: empty': `
    the answer is empty
    run this again; if the failure persists, ask the provider`,
  'content: damaged': `
    the JSON is damaged, ends too early, or is nested too deeply
    run this again; if the failure persists, ask the provider`,

  'list: none': `
    another resource, or an error sent with status 200
    check {variable}; then ask the provider`,
  'list: in an envelope': `
    an envelope: the list is in the member {members}
    check that {variable} is not a gateway that wraps the answer; if the provider itself does, readList in src/banks/reading/list-reader.ts must unwrap it`,

  'entries: alike': `
    {hints}
    publish a field in which no two entries are alike, see the table below; if there is one, ask the provider`,
  'entries: unusable': `
    {hints}
    set BANK_FIELDS and BANK_REQUIRED_FIELDS to fields that the table below shows as filled`,
};
