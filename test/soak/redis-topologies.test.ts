import { expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createAuthority } from '../helpers/authority.ts';
import { closeLater } from '../helpers/close-later.ts';
import { BANKS, emulate } from '../helpers/emulate.ts';
import { listenOn, onFreePort } from '../helpers/free-port.ts';
import { startProcess, type ServiceProcess } from '../helpers/process.ts';
import { runProgram } from '../helpers/program.ts';
import { describeWithRedis } from '../helpers/redis-server.ts';
import { waitUntil } from '../helpers/wait-until.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

// A Redis Cluster of three nodes, and a primary that Sentinel replaces, behind a name that follows
// it: two replicas share one list, go on while a node is away, and share again.

const OPERATOR = 'operator-token-for-tests';

/** How a server is reached. */
interface Access {
  /** The options of redis-server that name the port. */
  readonly listenOn: (port: string) => readonly string[];
  /** Further ones. */
  readonly server: readonly string[];
  readonly cli: readonly string[];
}
const PLAIN: Access = { listenOn: (port) => ['--port', port], server: [], cli: [] };
/** Over TLS only, with a password. */
const secured = (password: string, authority: ReturnType<typeof createAuthority>): Access => {
  const { certFile, keyFile } = authority.issue('localhost');
  const ca = authority.certFile;
  return {
    listenOn: (port) => ['--port', '0', '--tls-port', port],
    server: [
      `--tls-cert-file ${certFile} --tls-key-file ${keyFile} --tls-ca-cert-file ${ca}`,
      '--tls-auth-clients no --tls-cluster yes --tls-replication yes',
    ]
      .flatMap((options) => options.split(' '))
      .concat('--requirepass', password, '--masterauth', password),
    cli: ['--tls', '--cacert', ca, '--no-auth-warning', '-a', password],
  };
};
/** Starts a Redis on this port; `options` are further arguments of redis-server. */
const startNodeAt = async (port: number, access: Access, options: readonly string[]) => {
  const folder = temporaryFolder('banks-redis-');
  const args = ['--bind', '127.0.0.1', '--dir', folder, '--save', '', ...options];
  const program = runProgram('redis-server', {
    args: [...access.listenOn(String(port)), ...args, ...access.server],
  });
  closeLater(() => program.end());
  await program.says(/Ready to accept connections/);
  return { port, program };
};
const startNode = (...options: readonly string[]) =>
  onFreePort((port) => startNodeAt(port, PLAIN, options));
/** Starts a node of a Cluster. Unless told, it takes its own port + 10000 for the others. */
const startClusterNode = (access: Access) =>
  onFreePort((port) =>
    onFreePort((own) =>
      startNodeAt(own, access, [
        '--cluster-enabled',
        'yes',
        '--cluster-require-full-coverage',
        'no',
        '--cluster-port',
        String(port),
      ]),
    ),
  );
/** Starts a Cluster of three nodes. */
const startCluster = async (access: Access) => {
  const nodes = await Promise.all(Array.from({ length: 3 }, () => startClusterNode(access)));
  const ports = nodes.map((node) => node.port);
  const ask = (port: number, ...args: readonly string[]): string =>
    cli(port, ...access.cli, ...args);
  const addresses = ports.map((port) => `127.0.0.1:${port}`);
  ask(ports[0] ?? 0, '--cluster', 'create', ...addresses, '--cluster-yes');
  await until('the Cluster is up', () =>
    ports.every((port) => ask(port, 'cluster', 'info').includes('cluster_state:ok')),
  );
  /** The ports of the nodes that have a list: one, as soon as there is one. */
  const holders = (): number[] =>
    ports.filter((port) => ask(port, 'keys', '*:list').includes('banks-bff:'));
  return { nodes, ports, holders };
};
const cli = (port: number, ...args: readonly string[]): string =>
  spawnSync('redis-cli', ['-p', String(port), ...args]).stdout.toString();
const until = async (what: string, condition: () => boolean | Promise<boolean>): Promise<void> => {
  await waitUntil(what, condition, Boolean, 60_000);
};
const countOf = async ({ url }: ServiceProcess): Promise<number> => {
  const response = await fetch(`${url}/banks`);
  expect(response.status).toBe(200);
  const banks: unknown = await response.json();
  return Array.isArray(banks) ? banks.length : 0;
};
/** The time of the fastest of ten requests: a busy machine delays some of them, a wait for Redis all. */
const fastestMs = async (replica: ServiceProcess): Promise<number> => {
  const times: number[] = [];
  for (let count = 0; count < 10; count += 1) {
    const startMs = performance.now();
    await countOf(replica);
    times.push(performance.now() - startMs);
  }
  return Math.min(...times);
};
const refresh = async ({ managementUrl }: ServiceProcess, query = ''): Promise<number> => {
  const headers = { Authorization: `Bearer ${OPERATOR}` };
  return (await fetch(`${managementUrl}/refresh${query}`, { method: 'POST', headers })).status;
};
const works = async ({ managementUrl }: ServiceProcess): Promise<boolean> =>
  (await (await fetch(`${managementUrl}/healthz`)).text()).includes('"works":true');

describeWithRedis('two replicas', () => {
  test('share through a Cluster, lose the node that has the list, and share again', async () => {
    const { nodes, ports, holders } = await startCluster(PLAIN);
    const [port = 0] = ports;
    const emulator = await emulate();
    const env = {
      PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl,
      CACHE_REDIS_URL: `redis://127.0.0.1:${port}`,
      MANAGEMENT_TOKEN: OPERATOR,
    };
    const one = await startProcess(env);
    await until('the list is in the Cluster', () => holders().length > 0);
    const two = await startProcess(env);
    expect(emulator.listCalls()).toBe(1);
    expect(holders()).toHaveLength(1);
    await emulator.behave('shrunk');
    expect(await refresh(one, '?accept=shrunk')).toBe(200);
    const accepted = await countOf(one);
    await until('the other has the accepted list', async () => (await countOf(two)) === accepted);

    const [holder = 0] = holders();
    const unused = ports.findIndex((each) => each !== holder && each !== port);
    await nodes[unused]?.program.end();
    await refresh(one);
    await until('the first is connected to the other nodes', () => works(one));
    const losses = (): number => one.written().split('continues without it').length;
    const before = losses();
    for (let count = 0; count < 20; count += 1) expect(await refresh(one)).toBe(200);
    expect(losses()).toBe(before);

    const node = nodes[ports.indexOf(holder)]?.program;
    node?.stall();
    await until('the loss is reported', async () => !(await works(one)));
    expect(await countOf(one)).toBe(accepted);
    expect(await fastestMs(one)).toBeLessThan(200);
    node?.resume();
    for (const each of [one, two]) await until('sharing resumes', () => works(each));
    await emulator.behave('healthy');
    expect(await refresh(two)).toBe(200);
    const all = await countOf(two);
    await until('the first has the list of the second', async () => (await countOf(one)) === all);
  });

  test('share through a Cluster that wants TLS and a password on every node', async () => {
    const authority = createAuthority();
    const password = 'a/password:of@the Cluster';
    const { ports, holders } = await startCluster(secured(password, authority));
    const emulator = await emulate();
    const startAt = (port = 0): Promise<ServiceProcess> =>
      startProcess({
        PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl,
        CACHE_REDIS_URL: `rediss://:${encodeURIComponent(password)}@127.0.0.1:${port}`,
        NODE_EXTRA_CA_CERTS: authority.certFile,
        MANAGEMENT_TOKEN: OPERATOR,
      });
    const [one, two] = await Promise.all([startAt(ports[0]), startAt(ports[1])]);
    await until('the list is in the Cluster', () => holders().length > 0);
    await emulator.behave('shrunk');
    expect(await refresh(one, '?accept=shrunk')).toBe(200);
    const accepted = await countOf(one);
    expect(accepted).toBeLessThan(BANKS.length);
    await until('the other has the accepted list', async () => (await countOf(two)) === accepted);
  });

  test('share again after Sentinel has replaced the primary behind their name', async () => {
    const primary = await startNode();
    const replica = await startNode('--replicaof', '127.0.0.1', String(primary.port));
    const file = join(temporaryFolder('banks-sentinel-'), 'sentinel.conf');
    const sentinel = await onFreePort(async (port) => {
      writeFileSync(
        file,
        [
          `port ${port}`,
          'bind 127.0.0.1',
          `sentinel monitor banks 127.0.0.1 ${primary.port} 1`,
          'sentinel down-after-milliseconds banks 1000',
          'sentinel failover-timeout banks 3000',
        ].join('\n'),
      );
      const program = runProgram('redis-server', { args: [file, '--sentinel'] });
      closeLater(() => program.end());
      await program.says(/monitor master banks/);
      return port;
    });
    const primaryPort = (): number =>
      Number(cli(sentinel, 'sentinel', 'get-master-addr-by-name', 'banks').split('\n')[1]);
    await until('Sentinel knows the replica', () =>
      cli(sentinel, 'sentinel', 'replicas', 'banks').includes(String(replica.port)),
    );
    // The name that follows the primary.
    const sockets = new Set<Socket>();
    const front = createServer((client) => {
      const server = connect(primaryPort(), '127.0.0.1');
      for (const socket of [client, server])
        sockets.add(
          socket
            .on('error', () => undefined)
            .on('close', () => (client.destroy(), server.destroy())),
        );
      client.pipe(server).pipe(client);
    });
    const url = `redis://127.0.0.1:${await listenOn(front)}`;
    closeLater(
      () => front.close(),
      () => sockets.forEach((socket) => socket.destroy()),
    );
    const emulator = await emulate();
    const env = {
      PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl,
      CACHE_REDIS_URL: url,
      MANAGEMENT_TOKEN: OPERATOR,
    };
    const one = await startProcess(env);
    await until('the replica of Redis has the list', () =>
      cli(replica.port, 'keys', '*:list').includes('banks-bff:'),
    );
    const two = await startProcess(env);
    expect(emulator.listCalls()).toBe(1);
    primary.program.stall();
    await until('the replica is promoted', () => primaryPort() === replica.port);
    expect(await countOf(one)).toBe(BANKS.length);
    for (const each of [one, two]) await until('sharing resumes', () => works(each));
    await emulator.behave('shrunk');
    expect(await refresh(one, '?accept=shrunk')).toBe(200);
    const accepted = await countOf(one);
    await until('the other has the accepted list', async () => (await countOf(two)) === accepted);
    expect(emulator.listCalls()).toBe(2);
  });
});
