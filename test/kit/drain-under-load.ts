import { Agent, request } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import type { ServiceProcess } from './process.ts';

// The end of a service under load, as a load balancer's clients see it.

const CLIENTS = 200;

/** Sends SIGTERM while 200 keep-alive clients ask for the list. */
export const endUnderLoad = async ({ urls, end }: Pick<ServiceProcess, 'urls' | 'end'>) => {
  const [url = ''] = urls();
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  const failures: unknown[] = [];
  let answered = 0;
  // As a load balancer: it asks /readyz every 100 ms and sends nothing more once that is no 200.
  const balancer = { inRotation: true };
  const probe = async (): Promise<void> => {
    while (balancer.inRotation) {
      balancer.inRotation = (await fetch(`${url}/readyz`)).status === 200;
      await setTimeout(100);
    }
  };
  const client = async (): Promise<void> => {
    while (balancer.inRotation) {
      await get(agent, `${url}/banks`).then(
        (status) => (status === 200 ? (answered += 1) : failures.push(status)),
        (error: unknown) => failures.push(error),
      );
      await setTimeout(5);
    }
  };
  const clients = [probe(), ...Array.from({ length: CLIENTS }, client)];
  await setTimeout(300);
  const exit = end('SIGTERM');
  await Promise.all(clients);
  const status = await exit;
  agent.destroy();
  return { answered, failures, status };
};

const get = (agent: Agent, url: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    request(url, { agent }, (res) => {
      res.resume().on('end', () => resolve(res.statusCode));
      res.on('error', reject);
    })
      .on('error', reject)
      .end();
  });
