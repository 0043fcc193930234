import { DEFAULT_ACCESS_TOKEN, startEmulator } from '../../emulator/emulator.ts';
import { ALL_CPUS, freePort, start } from '../bench/processes.ts';
import { waitUntilReady } from '../bench/service.ts';
import { imageOptions } from '../../test/helpers/image.ts';
import { compare, type Compared } from './measure.ts';
import {
  createSender,
  MANAGEMENT_TOKEN,
  plainRequest,
  REQUEST_PLACES,
  type RequestPlace,
} from './requests.ts';
import type { Shape } from './shapes.ts';
import type { Result } from './report.ts';

// The built service with the image's options, and what requests to it cost.

/** Of the longest text: a short one too, since some headers are read only up to some length. */
const PARTS = [1 / 80, 1];
const HOT_PATH_HEAD = 8_000;

/** Measures every place that is wanted. With the hot path, only the requests that it answers. */
export const measureRequests = async (
  hotPath: 'on' | 'off',
  isWanted: (place: string) => boolean,
): Promise<readonly Result[]> => {
  const emulator = await startEmulator();
  const [port, managementPort] = [await freePort(), await freePort()];
  const service = await start(
    [[process.execPath, ...imageOptions(), 'dist/src/main.js']],
    {
      PORT: String(port),
      HOST: '127.0.0.1',
      MANAGEMENT_PORT: String(managementPort),
      MANAGEMENT_TOKEN,
      PROVIDER_ENVIRONMENT: 'sandbox',
      PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl,
      PROVIDER_ACCESS_TOKEN: DEFAULT_ACCESS_TOKEN,
      BANK_FIELDS: 'code,ispb,name,fullName',
      // Whoever sends the requests, so that every address in X-Forwarded-For is looked at.
      TRUST_PROXY: '127.0.0.0/8,::1',
      CORS_ORIGINS: 'https://app.example.com,http://localhost:5173',
      HOT_PATH: hotPath,
    },
    ALL_CPUS,
  );
  const ports = { public: port, management: managementPort };
  const sender = createSender(port, service);
  try {
    await waitUntilReady(`http://127.0.0.1:${port}/banks`);
    const answeredHot = async (bytes: string): Promise<boolean> => {
      const before = await countHot(managementPort);
      await sender.exchange(bytes);
      return (await countHot(managementPort)) > before;
    };
    const results: Result[] = [];
    for (const place of REQUEST_PLACES.filter(({ name }) => isWanted(name))) {
      if (hotPath === 'on' && (place.port === 'management' || place.longest === 0)) continue;
      const own = createSender(ports[place.port], service);
      results.push(...(await measurePlace(place, hotPath, own, answeredHot)));
      own.close();
      process.stderr.write(`${place.name}\n`);
    }
    return results;
  } finally {
    sender.close();
    await service.stop();
    await emulator.close();
  }
};

type Sender = ReturnType<typeof createSender>;

const measurePlace = async (
  place: RequestPlace,
  hotPath: 'on' | 'off',
  sender: Sender,
  answeredHot: (bytes: string) => Promise<boolean>,
): Promise<readonly Result[]> => {
  const longest = hotPath === 'on' ? Math.min(HOT_PATH_HEAD - 200, place.longest) : place.longest;
  const results: Result[] = [];
  for (const shape of place.shapes) {
    if (hotPath === 'on' && !(await answeredHot(place.request(shape.text(longest))))) continue;
    for (const part of PARTS) {
      const length = Math.floor(longest * part);
      const measured = await compare(
        await compared(place, shape, length, length === longest, sender),
      );
      results.push({
        place: `${place.name}${hotPath === 'on' ? ', hot path' : ''}`,
        shape: shape.name,
        length,
        ...measured,
      });
    }
  }
  return results;
};

/**
 * A plain request ends the connection if the other one does: a new connection costs more than a
 * request.
 */
const compared = async (
  place: RequestPlace,
  shape: Shape,
  length: number,
  isLongest: boolean,
  sender: Sender,
): Promise<Compared> => {
  const bytes = place.request(shape.text(length));
  const halfBytes = place.request(shape.text(Math.floor(length / 2)));
  const isLast = await sender.isLast(bytes);
  // Growth says nothing of two requests that are answered in different ways.
  const isSameWay = isLongest && isLast === (await sender.isLast(halfBytes));
  return {
    worst: sender.costOf(bytes, isLast),
    plain: sender.costOf(plainRequest(place, bytes.length, isLast), isLast),
    half: isSameWay ? sender.costOf(halfBytes, isLast) : undefined,
  };
};

const countHot = async (managementPort: number): Promise<number> => {
  const text = await (await fetch(`http://127.0.0.1:${managementPort}/metrics`)).text();
  return Number(/^banks_http_requests_total\{answered_by="hot_path"\} (\d+)$/m.exec(text)?.[1]);
};
