import type { Symptom, Symptoms } from './symptoms.ts';

// The cause and the advice for each symptom of what the service uses besides the provider.

export const REDIS_SYMPTOMS = [
  {
    symptoms: ['no address'],
    likely: 'the file cannot be read, or has no address of Redis',
    next: 'write the address, and nothing else, into the file of CACHE_REDIS_URL_FILE: redis://user:password@host:6379',
  },
  {
    symptoms: ['refused', 'unknown host'],
    likely: ({ host }) => `nothing listens at ${host}, or DNS does not know it`,
    next: 'check host and port in CACHE_REDIS_URL, and the DNS; inside a container, 127.0.0.1 and localhost are the container itself',
  },
  {
    symptoms: ['TIMEOUT', 'no route'],
    likely: ({ host }) =>
      `a firewall drops what is sent to ${host}, or Redis is stalled or too slow`,
    next: 'ask your network team to open the route; if it is open, look at the load and the slow log of Redis',
  },
  {
    symptoms: ['NOAUTH', 'WRONGPASS'],
    likely: 'the user or the password is missing or wrong',
    next: 'write both into CACHE_REDIS_URL: redis://user:password@host:6379 (user default where there are no users); special characters must be percent-encoded',
  },
  {
    symptoms: ['NOPERM'],
    likely: 'this user may not do that',
    next: 'allow it what the service needs: ~banks-bff:* &banks-bff:* +@read +@write +@scripting +@pubsub +@connection +time, and for a Cluster +cluster',
  },
  {
    symptoms: ['READONLY', 'MOVED', 'CROSSSLOT'],
    likely: 'this is a replica, or a node that does not say that it belongs to a Cluster',
    next: 'set CACHE_REDIS_URL to the primary of a single Redis or Valkey, to the address that follows it, or to any node of a Cluster',
  },
  {
    symptoms: ['OOM', 'MISCONF'],
    likely: 'Redis is full, or cannot save its data',
    next: 'give it more memory, or let it evict keys (the list needs less than a megabyte); look at its disk and its log',
  },
  {
    symptoms: ['LOADING', 'MASTERDOWN', 'CLUSTERDOWN', 'TRYAGAIN'],
    likely: 'Redis is starting or failing over',
    next: 'run this again in a moment; if that does not change, ask the people who run Redis',
  },
  {
    symptoms: ['certificate out of date'],
    likely:
      "the certificate of Redis has expired or is not valid yet, or this machine's clock is wrong",
    next: 'check the clock; then ask the people who run Redis to renew the certificate',
  },
  {
    symptoms: ['certificate of another name'],
    likely: ({ host }) => `the certificate of Redis is for another name than ${host}`,
    next: 'set the host in CACHE_REDIS_URL to the name in the certificate',
  },
  {
    symptoms: ['untrusted certificate', 'incomplete certificate chain', 'weak certificate'],
    likely: 'the certificate of Redis comes from an authority that Node does not know',
    next: 'start Node with NODE_EXTRA_CA_CERTS, the PEM file of that authority; never disable the check',
  },
  {
    symptoms: ['client certificate required', 'client certificate refused', 'handshake refused'],
    likely: 'Redis requires a client certificate, and this service has none for it',
    next: 'ask the people who run Redis to accept a user and a password instead (tls-auth-clients no)',
  },
  {
    symptoms: ['TLS missing'],
    likely: ({ host }) => `${host} wants TLS, and CACHE_REDIS_URL begins with redis:`,
    next: 'begin CACHE_REDIS_URL with rediss:',
  },
  {
    symptoms: ['TLS not spoken'],
    likely: ({ host }) => `${host} is Redis without TLS, and CACHE_REDIS_URL begins with rediss:`,
    next: 'set CACHE_REDIS_URL to the port on which Redis speaks TLS; where the network needs none, begin it with redis:',
  },
  {
    symptoms: ['no such database'],
    likely: 'Redis has no database with the number at the end of CACHE_REDIS_URL',
    next: 'leave the number out, or write a smaller one: Redis has 0 to 15 unless it is configured otherwise, a Cluster only 0',
  },
  {
    symptoms: ['no common TLS', 'anything else'],
    likely: ({ host }) =>
      `${host} is not Redis or Valkey 6 or newer, or has only an old version of TLS`,
    next: 'check CACHE_REDIS_URL with the people who run Redis',
  },
] as const satisfies Symptoms<{ readonly host: string }>;

export type RedisSymptom = (typeof REDIS_SYMPTOMS)[number]['symptoms'][number];

export const SNAPSHOT_SYMPTOMS: Symptoms<{ readonly directory: string }> = [
  {
    symptoms: ['EACCES', 'EPERM', 'EROFS'],
    likely: ({ directory }) =>
      `this user may not read and write in ${directory}, or its file system is read-only`,
    next: 'give the user that runs the service both rights (in the image: user 10001), or mount a volume that can be written',
  },
  {
    symptoms: ['anything else'],
    likely: ({ directory }) => `the disk of ${directory} is full or fails`,
    next: 'make room on it; look at the disk, and at the log of the system',
  },
];

interface PortWords {
  readonly variable: string;
  readonly port: number;
  readonly host: string;
  /** The variable with the host. */
  readonly hostVariable: string;
}

interface PortSymptom extends Symptom<PortWords> {
  /** The variable with the host is to be changed, not the one with the port. */
  readonly isOfHost?: true;
}

export const PORT_SYMPTOMS: readonly PortSymptom[] = [
  {
    symptoms: ['EADDRINUSE'],
    likely: ({ port }) => `another program uses port ${port}`,
    next: ({ variable }) => `set ${variable} to another one, or stop that program`,
  },
  {
    symptoms: ['EACCES', 'EPERM'],
    likely: ({ port }) => `this user may not listen on port ${port}`,
    next: ({ variable }) => `set ${variable} to one above 1023`,
  },
  {
    symptoms: ['anything else'],
    likely: ({ host }) => `${host} is not an address of this machine`,
    next: ({ hostVariable }) =>
      `set ${hostVariable} to one that is, or to 0.0.0.0 for all of its addresses`,
    isOfHost: true,
  },
];
