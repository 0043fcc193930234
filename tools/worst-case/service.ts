import { DEFAULT_ACCESS_TOKEN } from '../../emulator/emulator.ts';
import { ALL_CPUS, freePort, start } from './processes.ts';
import { waitUntilReady } from './processes.ts';
import { imageOptions } from '../../test/helpers/image.ts';
import { compare, plainOf, type Plain } from './measure.ts';
import { MANAGEMENT_TOKEN, plainFor, REQUEST_PLACES, type RequestPlace } from './requests.ts';
import type { Result } from './report.ts';
import { createSender } from './sender.ts';

// The built service with the image's options, the emulator, and what requests to them cost.

/** Of the longest text: a short one too, since some headers are read only up to some length. */
const PARTS = [1 / 80, 1];
const HOT_PATH_HEAD = 8_000;

/** Measures every place that is wanted. With the hot path, only the requests that it answers. */
export const measureRequests = async (
  hotPath: 'on' | 'off',
  isWanted: (place: string) => boolean,
): Promise<readonly Result[]> => {
  const ports = {
    public: await freePort(),
    management: await freePort(),
    emulator: await freePort(),
    control: await freePort(),
  };
  const emulatorUrl = `http://127.0.0.1:${ports.emulator}`;
  const emulator = await start(
    [[process.execPath, 'dist/emulator/main.js']],
    { EMULATOR_PORT: String(ports.emulator), EMULATOR_CONTROL_PORT: String(ports.control) },
    ALL_CPUS,
  );
  await waitUntilReady(`http://127.0.0.1:${ports.control}/`);
  const service = await start(
    [[process.execPath, ...imageOptions(), 'dist/src/main.js']],
    {
      PORT: String(ports.public),
      HOST: '127.0.0.1',
      MANAGEMENT_PORT: String(ports.management),
      MANAGEMENT_TOKEN,
      PROVIDER_ENVIRONMENT: 'sandbox',
      PROVIDER_SANDBOX_BASE_URL: emulatorUrl,
      PROVIDER_ACCESS_TOKEN: DEFAULT_ACCESS_TOKEN,
      BANK_FIELDS: 'code,ispb,name,fullName',
      // Whoever sends the requests, so that every address in X-Forwarded-For is looked at.
      TRUST_PROXY: '127.0.0.0/8,::1',
      CORS_ORIGINS: 'https://app.example.com,http://localhost:5173',
      HOT_PATH: hotPath,
    },
    ALL_CPUS,
  );
  const sender = createSender(ports.public, service);
  try {
    await waitUntilReady(`http://127.0.0.1:${ports.public}/banks`);
    const answeredHot = async (bytes: string): Promise<boolean> => {
      const before = await countHot(ports.management);
      await sender.exchange(bytes);
      return (await countHot(ports.management)) > before;
    };
    const results: Result[] = [];
    for (const place of REQUEST_PLACES.filter(({ name }) => isWanted(name))) {
      if (hotPath === 'on' && place.port !== 'public') continue;
      const isService = place.port === 'public' || place.port === 'management';
      const own = createSender(ports[place.port], isService ? service : emulator);
      results.push(...(await measurePlace(place, hotPath, own, answeredHot)));
      own.close();
      process.stderr.write(`${place.name}\n`);
    }
    return results;
  } finally {
    sender.close();
    await service.stop();
    await emulator.stop();
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
  const name = `${place.name}${hotPath === 'on' ? ', hot path' : ''}`;
  const asSent = hotPath === 'on' ? toGet : String;
  const requestWith = (text: string): string => asSent(place.request(text));
  const results: Result[] = [];
  for (const part of PARTS) {
    const length = Math.floor(longest * part);
    const headBytes = place.request('a'.repeat(length)).length;
    const plainWhere = (isLast: boolean): Plain =>
      plainOf(sender.costOf(asSent(plainFor(place, headBytes, isLast)), isLast));
    // A plain request ends the connection if the other one does: a new connection costs more than a
    // request.
    const plains = { last: plainWhere(true), kept: plainWhere(false) };
    for (const shape of place.shapes) {
      const bytes = requestWith(shape.text(length));
      if (hotPath === 'on' && !(await answeredHot(bytes))) continue;
      const isLast = await sender.isLast(bytes);
      const halfBytes = requestWith(shape.text(Math.floor(length / 2)));
      // Growth says nothing of two requests that are answered in different ways.
      const isSameWay = length === longest && isLast === (await sender.isLast(halfBytes));
      const measured = await compare({
        worst: sender.costOf(bytes, isLast),
        plain: isLast ? plains.last : plains.kept,
        half: isSameWay ? sender.costOf(halfBytes, isLast) : undefined,
      });
      results.push({ place: name, shape: shape.name, length, ...measured });
    }
  }
  return results;
};

/**
 * The hot path answers GET alone. With a 304 where the request leaves that open: sending the list
 * costs as much as reading a head.
 */
const toGet = (bytes: string): string => {
  const condition = /if-none-match:/i.test(bytes) ? '' : 'If-None-Match: *\r\n';
  return bytes.replace('HEAD ', 'GET ').replace('\r\n', `\r\n${condition}`);
};

const countHot = async (managementPort: number): Promise<number> => {
  const text = await (await fetch(`http://127.0.0.1:${managementPort}/metrics`)).text();
  return Number(/^banks_http_requests_total\{answered_by="hot_path"\} (\d+)$/m.exec(text)?.[1]);
};
