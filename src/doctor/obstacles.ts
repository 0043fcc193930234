import type { AdviceTable } from './symptoms.ts';

export type SurroundingStep = 'redis' | 'snapshot' | 'port' | 'management';

/** What can be wrong with the stores and the ports. */
export const OBSTACLES: AdviceTable<SurroundingStep> = {
  'redis: no address': `
    the file cannot be read, or has no address of Redis
    write the address, and nothing else, into the file of CACHE_REDIS_URL_FILE: redis://user:password@host:6379`,
  'redis: ECONNREFUSED': `
    nothing listens at {host}
    check host and port in CACHE_REDIS_URL; inside a container, 127.0.0.1 and localhost are the container itself`,
  'redis: ENOTFOUND, EAI_AGAIN': `
    DNS does not know the host of {host}
    look for a typing mistake in CACHE_REDIS_URL; inside a container, check its DNS`,
  'redis: TIMEOUT, ETIMEDOUT, EHOSTUNREACH, ENETUNREACH': `
    a firewall drops what is sent to {host}, or Redis is stalled or too slow
    ask your network team to open the route; if it is open, look at the load and the slow log of Redis`,
  'redis: NOAUTH': `
    Redis requires a password, and CACHE_REDIS_URL has none
    write it into the address: redis://user:password@host:6379 (user default where there are no users)`,
  'redis: WRONGPASS': `
    the user or the password is wrong
    check both in CACHE_REDIS_URL; special characters must be percent-encoded`,
  'redis: NOPERM': `
    this user may not do that
    allow it what the service needs: ~banks-bff:* &banks-bff:* +@read +@write +@scripting +@pubsub +@connection`,
  'redis: READONLY': `
    this is a replica, which cannot be written
    set CACHE_REDIS_URL to the primary, or to the address that follows it`,
  'redis: OOM': `
    Redis is full
    give it more memory, or let it evict keys; the list needs less than a megabyte`,
  'redis: MISCONF': `
    Redis cannot save its data, and refuses to be written until it can
    look at the disk of Redis, and at its log`,
  'redis: LOADING, MASTERDOWN, CLUSTERDOWN, TRYAGAIN': `
    Redis is starting or failing over
    run this again in a moment; if it stays so, ask the people who run Redis`,
  'redis: MOVED, CROSSSLOT': `
    this is a Redis Cluster, which this service does not support
    use a single Redis or Valkey, 6 or newer`,
  'redis: SELF_SIGNED_CERT_IN_CHAIN, DEPTH_ZERO_SELF_SIGNED_CERT, UNABLE_TO_GET_ISSUER_CERT_LOCALLY, UNABLE_TO_VERIFY_LEAF_SIGNATURE': `
    the certificate of Redis comes from an authority that Node does not know
    start Node with NODE_EXTRA_CA_CERTS, the PEM file of that authority; never disable the check`,
  'redis: anything else': `
    {host} is not Redis or Valkey 6 or newer, or wants TLS (rediss:) where CACHE_REDIS_URL has none, or the reverse
    check CACHE_REDIS_URL with the people who run Redis`,

  'snapshot: ENOENT, ENOTDIR': `
    the directory {directory} does not exist
    create it, on a disk that outlives the container, or correct CACHE_SNAPSHOT_FILE`,
  'snapshot: EACCES, EPERM': `
    this user may not do that in {directory}
    give the user that runs the service the right to read and write there (in the image: user 10001)`,
  'snapshot: EROFS': `
    {directory} is on a read-only file system
    mount a volume that can be written there`,
  'snapshot: ENOSPC, EDQUOT': `
    the disk is full
    make room on it`,
  'snapshot: not a regular file': `
    CACHE_SNAPSHOT_FILE names a directory, a device or a pipe
    name a file, which the service creates`,
  'snapshot: not a saved list': `
    CACHE_SNAPSHOT_FILE names a file that this service did not write
    name another one, which the service creates: this one would be replaced`,
  'snapshot: anything else': `
    the disk of {directory} fails
    look at the disk, and at the log of the system`,

  'port: EADDRINUSE': `
    another program uses port {port}
    set PORT to another one, or stop that program`,
  'port: EACCES, EPERM': `
    this user may not listen on port {port}
    set PORT to one above 1023`,
  'port: anything else': `
    {host} is not an address of this machine
    set HOST to 0.0.0.0 for all of its addresses`,
  'management: EADDRINUSE': `
    another program uses port {port}, or PORT has the same number
    set MANAGEMENT_PORT to another one, or stop that program`,
  'management: EACCES, EPERM': `
    this user may not listen on port {port}
    set MANAGEMENT_PORT to one above 1023`,
  'management: anything else': `
    {host} is not an address of this machine
    set MANAGEMENT_HOST to 127.0.0.1, or to 0.0.0.0 for all of its addresses`,
};
