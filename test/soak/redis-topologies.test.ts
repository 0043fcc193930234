import { expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { connect, createServer, type Socket } from 'node:net';
import { createAuthority } from '../helpers/authority.ts';
import { closeLater } from '../helpers/close-later.ts';
import { BANKS, emulate } from '../helpers/emulate.ts';
import { listenOn, onFreePort } from '../helpers/free-port.ts';
import { postRefresh } from '../helpers/management-port.ts';
import { startProcess, type ServiceProcess } from '../helpers/process.ts';
import { runProgram } from '../helpers/program.ts';
import { describeWithRedis, redisOfTest } from '../helpers/redis-server.ts';
import { MANAGEMENT_TOKEN } from '../helpers/sandbox.ts';
import { eventually } from '../helpers/wait-until.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

// A Redis Cluster of three nodes, and a primary that another server replaces, behind a name that
// follows it: two replicas share one list, go on while a node is away, and share again.

/** Starts a Cluster of three nodes, which are reached over TLS only, with a password. */
const startCluster = async (password: string, authority: ReturnType<typeof createAuthority>) => {
  const { certFile, keyFile } = authority.issue('localhost');
  const ca = authority.certFile;
  const options = [
    `--port 0 --tls-cert-file ${certFile} --tls-key-file ${keyFile} --tls-ca-cert-file ${ca}`,
    '--tls-auth-clients no --tls-cluster yes --tls-replication yes',
    '--cluster-enabled yes --cluster-require-full-coverage no',
  ].flatMap((line) => line.split(' '));
  const passwords = ['--requirepass', password, '--masterauth', password];
  const startNode = async (port: number, bus: number) => {
    // Unless told, a node takes its own port + 10000 for the others.
    const ports = ['--tls-port', String(port), '--cluster-port', String(bus)];
    const own = ['--bind', '127.0.0.1', '--dir', temporaryFolder(), '--save', '', ...ports];
    const program = runProgram('redis-server', { args: [...options, ...passwords, ...own] });
    closeLater(() => program.end());
    await program.says(/Ready to accept connections/);
    return { port, program };
  };
  const start = () => onFreePort((bus) => onFreePort((port) => startNode(port, bus)));
  const nodes = await Promise.all([start(), start(), start()]);
  const ports = nodes.map((node) => node.port);
  const ask = (port: number, ...args: readonly string[]): string =>
    cli(port, '--tls', '--cacert', ca, '--no-auth-warning', '-a', password, ...args);
  const addresses = ports.map((port) => `127.0.0.1:${port}`);
  ask(ports[0] ?? 0, '--cluster', 'create', ...addresses, '--cluster-yes');
  await eventually(() =>
    ports.every((port) => ask(port, 'cluster', 'info').includes('cluster_state:ok')),
  );
  /** The nodes that have a list: one, as soon as there is one. */
  const holders = () =>
    nodes.filter(({ port }) => ask(port, 'keys', '*:list').includes('banks-bff:'));
  return { ports, holders };
};
const cli = (port: number, ...args: readonly string[]): string =>
  spawnSync('redis-cli', ['-p', String(port), ...args]).stdout.toString();
const countOf = async ({ url }: ServiceProcess): Promise<number> => {
  const response = await fetch(`${url}/banks`);
  expect(response.status).toBe(200);
  const banks: unknown = await response.json();
  return Array.isArray(banks) ? banks.length : 0;
};
const works = async ({ managementUrl }: ServiceProcess): Promise<boolean> =>
  (await (await fetch(`${managementUrl}/healthz`)).text()).includes('"works":true');

describeWithRedis('two replicas', () => {
  test('share through a Cluster with TLS and a password, lose the node that has the list, and share again', async () => {
    const authority = createAuthority();
    const password = 'a/password:of@the Cluster';
    const { ports, holders } = await startCluster(password, authority);
    const emulator = await emulate();
    const startAt = (port = 0): Promise<ServiceProcess> =>
      startProcess({
        PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl,
        CACHE_REDIS_URL: `rediss://:${encodeURIComponent(password)}@127.0.0.1:${port}`,
        NODE_EXTRA_CA_CERTS: authority.certFile,
        MANAGEMENT_TOKEN,
      });
    const one = await startAt(ports[0]);
    await eventually(() => holders().length > 0);
    const two = await startAt(ports[1]);
    expect(emulator.listCalls()).toBe(1);
    await emulator.behave('shrunk');
    await postRefresh(one.managementUrl, { query: '?accept=shrunk' }).expect(200);
    const accepted = await countOf(one);
    await eventually(async () => (await countOf(two)) === accepted);

    const [holder, ...others] = holders();
    expect(others).toEqual([]);
    holder?.program.stall();
    await eventually(async () => !(await works(one)));
    expect(await countOf(one)).toBe(accepted);
    holder?.program.resume();
    for (const each of [one, two]) await eventually(() => works(each));
    await emulator.behave('healthy');
    await postRefresh(two.managementUrl).expect(200);
    const all = await countOf(two);
    await eventually(async () => (await countOf(one)) === all);
  });

  test('share again after a fail-over behind their name', async () => {
    const primary = await redisOfTest();
    const replicaOf = ['--replicaof', '127.0.0.1', String(primary.port)];
    const replica = await redisOfTest('--dir', temporaryFolder(), ...replicaOf);
    // The name that follows the primary.
    let { port } = primary;
    const sockets = new Set<Socket>();
    const front = createServer((client) => {
      const server = connect(port, '127.0.0.1');
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
      MANAGEMENT_TOKEN,
    };
    const one = await startProcess(env);
    await eventually(async () => (await replica.command('KEYS *:list')).includes('banks-bff:'));
    const two = await startProcess(env);
    expect(emulator.listCalls()).toBe(1);
    primary.stall();
    await eventually(async () => !(await works(one)));
    expect(await countOf(one)).toBe(BANKS.length);
    await replica.command('REPLICAOF NO ONE');
    ({ port } = replica);
    for (const each of [one, two]) await eventually(() => works(each));
    await emulator.behave('shrunk');
    await postRefresh(one.managementUrl, { query: '?accept=shrunk' }).expect(200);
    const accepted = await countOf(one);
    await eventually(async () => (await countOf(two)) === accepted);
    expect(emulator.listCalls()).toBe(2);
  });
});
