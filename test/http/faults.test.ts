import { expect, test } from '@jest/globals';
import { parseConfig } from '../../src/config/config.ts';
import { createPort } from '../../src/http/port.ts';
import { createPublicServer } from '../../src/http/public-server.ts';
import { createLogger } from '../../src/telemetry/log.ts';
import { closeLater } from '../helpers/close-later.ts';
import { startLoadedRig } from '../helpers/rig.ts';
import { SANDBOX } from '../helpers/sandbox.ts';
import { eventually } from '../helpers/wait-until.ts';

// Defects of the service itself, each made on purpose: a request pays for one, and the process
// never.

type Place = 'choice' | 'log' | 'metric';

const openLog = (beforeLine = (): void => undefined) => {
  const lines: string[] = [];
  const logDestination = {
    write: (line: string) => {
      beforeLine();
      lines.push(line);
    },
  };
  return {
    parts: {
      logDestination,
      logger: createLogger('info', logDestination),
      redact: (text: string) => text,
    },
    /** The lines so far, once there are `count`. */
    lines: async (count: number): Promise<unknown[]> => {
      await eventually(() => lines.length >= count);
      return lines.map((line): unknown => JSON.parse(line));
    },
  };
};

/** The public port of a service that has a list, and a fault in the place that `breakAt` names. */
const startFaulty = async (hotPath: string) => {
  const { service, clock, emulator } = await startLoadedRig();
  const env = { ...SANDBOX, PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl, HOT_PATH: hotPath };
  let broken: Place | undefined;
  const fail = (place: Place): void => {
    if (place === broken) throw new Error(`a fault in the ${place}`);
  };
  const log = openLog(() => fail('log'));
  const server = createPublicServer(parseConfig(env), {
    list: {
      ...service.list,
      served: () => {
        fail('choice');
        return service.list.served();
      },
    },
    clock,
    version: '0.0.0-test',
    stores: () => [],
    secretFiles: () => [],
    isDraining: () => false,
    emit: () => fail('metric'),
    ...log.parts,
  });
  const url = await server.listen({ host: '127.0.0.1', port: 0 });
  closeLater(() => server.close());
  return {
    banks: () => fetch(`${url}/banks`),
    breakAt: (place: Place | undefined) => void (broken = place),
    lines: log.lines,
  };
};

test.each(['on', 'off'])(
  'with HOT_PATH=%s a fault in the choice of a response is one 500, and in its line',
  async (hotPath) => {
    const { banks, breakAt, lines } = await startFaulty(hotPath);
    breakAt('choice');
    const response = await banks();
    expect(response.status).toBe(500);
    const text = await response.text();
    expect(JSON.parse(text)).toMatchObject({ code: 'internal_error' });
    expect(text).not.toContain('fault');
    breakAt(undefined);
    expect((await banks()).status).toBe(200);
    // The hot path has a line of its own for what it gives to Express.
    expect((await lines(hotPath === 'on' ? 3 : 2)).slice(-2)).toEqual([
      expect.objectContaining({
        severity: 'ERROR',
        path: '/banks',
        statusCode: 500,
        requestId: response.headers.get('x-request-id'),
        err: expect.objectContaining({ message: 'a fault in the choice' }),
      }),
      expect.objectContaining({ severity: 'INFO', msg: 'request', statusCode: 200 }),
    ]);
  },
);

test.each(['on', 'off'])(
  'with HOT_PATH=%s a fault in the log or in a metric takes nothing from the client',
  async (hotPath) => {
    const { banks, breakAt, lines } = await startFaulty(hotPath);
    for (const place of ['log', 'metric', undefined] as const) {
      breakAt(place);
      expect(await (await banks()).json()).toEqual(expect.any(Array));
    }
    const seen = await lines(3);
    expect(seen.filter((line) => Object(line).msg === 'request')).toHaveLength(2);
    expect(seen).toContainEqual(
      expect.objectContaining({
        severity: 'ERROR',
        err: expect.objectContaining({ message: 'a fault in the metric' }),
      }),
    );
  },
);

test('after the beginning of a response a fault ends the connection, and is one line', async () => {
  const { service, clock, emulator } = await startLoadedRig();
  const env = { ...SANDBOX, PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl };
  const { parts, lines } = openLog();
  const server = createPort(parseConfig(env), {
    list: service.list,
    clock,
    isDraining: () => false,
    origins: [],
    isRoutine: () => false,
    emit: () => undefined,
    define: ({ resource }) => {
      resource('/broken', (_req, res) => {
        res.write('the beginning');
        throw new Error('a fault');
      });
      return undefined;
    },
    ...parts,
  });
  const url = await server.listen({ host: '127.0.0.1', port: 0 });
  closeLater(() => server.close());
  await expect(fetch(`${url}/broken`).then((response) => response.text())).rejects.toThrow(
    /fetch failed|terminated/,
  );
  expect(await lines(1)).toEqual([
    expect.objectContaining({
      severity: 'ERROR',
      err: expect.objectContaining({ message: 'a fault' }),
    }),
  ]);
});
