import supertest from 'supertest';
import { MANAGEMENT_TOKEN } from './sandbox.ts';

// What operators and Prometheus ask a management port for.

interface RefreshOptions {
  /** Such as `?accept=shrunk`. */
  readonly query?: string;
  readonly token?: string;
}

/** Has the list loaded now. As with each request of supertest, it is sent when it is awaited. */
export const postRefresh = (
  managementUrl: string,
  { query = '', token = MANAGEMENT_TOKEN }: RefreshOptions = {},
) => supertest(managementUrl).post(`/refresh${query}`).set('Authorization', `Bearer ${token}`);

/** The value of each series, by its name and labels as they are exposed. */
export const metricsOf = async (
  managementUrl: string,
): Promise<Readonly<Record<string, number>>> => {
  const { text } = await supertest(managementUrl).get('/metrics').expect(200);
  const samples = text.matchAll(/^(\w+(?:\{.*\})?) (\S+)$/gm);
  return Object.fromEntries([...samples].map(([, series = '', value]) => [series, Number(value)]));
};
