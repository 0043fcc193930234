import { afterEach, describe, expect, test } from '@jest/globals';
import type { RequestListener, ServerResponse } from 'node:http';
import supertest from 'supertest';
import { INTERNAL_DETAIL } from '../emulator/answers.ts';
import { listBehaviours, type Behaviour } from '../emulator/behaviours.ts';
import { clientCredentialsEnv, eventually, startRig, type Rig } from './kit/rig.ts';

// What an upstream response reveals: its status code to operators, the kind of a failure to everyone, and nothing of its
// text.

const MARK = 'MARKED-UPSTREAM-TEXT';
const TOKEN = 'operator-token-0123456789';

let rig: Rig;
afterEach(() => rig.close());

/** Everything that the public port says, without what it draws or counts itself. */
const publicFace = async (): Promise<string> => {
  const said: string[] = [];
  for (const path of ['/banks', '/healthz', '/readyz', '/openapi.json', '/nothing']) {
    const { headers, text } = await supertest(rig.url).get(path);
    const { date: _date, 'x-request-id': _id, ...output } = headers;
    said.push(JSON.stringify(output), text);
  }
  return said.join('\n');
};

const managementFace = async (): Promise<string> => {
  const refresh = await supertest(rig.operatorsUrl).post('/refresh').set('Authorization', `Bearer ${TOKEN}`);
  const said = [JSON.stringify(refresh.headers), refresh.text];
  for (const path of ['/', '/metrics', '/healthz', '/readyz']) {
    const { headers, text } = await supertest(rig.operatorsUrl).get(path);
    said.push(JSON.stringify(headers), text);
  }
  return said.join('\n');
};

const loadEnded = () =>
  eventually(() => {
    const { failure, nextLoadInMs } = rig.service.list.status();
    return failure !== undefined && nextLoadInMs > 0;
  });

const MARKED_HEADERS = {
  'X-Upstream': MARK,
  Server: MARK,
  'WWW-Authenticate': `Bearer realm="${MARK}"`,
  Location: `https://${MARK}.example.com/`,
  'Set-Cookie': `session=${MARK}`,
  'Retry-After': MARK,
  ETag: `"${MARK}"`,
  Warning: `199 - "${MARK}"`,
};

const answerWith =
  (status: number, type: string, body: string): RequestListener =>
  (_req, res: ServerResponse) => {
    res.writeHead(status, MARK, { ...MARKED_HEADERS, 'Content-Type': type }).end(body);
  };

const TEXTS: readonly (readonly [type: string, body: string])[] = [
  ['text/html', `<title>${MARK}</title>`],
  [`application/${MARK}`, MARK],
  ['application/json', JSON.stringify({ error: MARK, detail: MARK })],
  ['application/json', `[${MARK}`],
  ['application/json', JSON.stringify([MARK, MARK])],
];
/** None of them is one of the service's own. */
const STATUSES = [207, 226, 302, 402, 418, 451, 507, 599];

describe.each([
  ['without a list', false],
  ['with a list', true],
])('%s', (_name, hasList) => {
  const start = async (status: number, type: string, body: string): Promise<void> => {
    const script = answerWith(status, type, body);
    rig = await startRig({
      env: { MANAGEMENT_TOKEN: TOKEN, LOG_LEVEL: 'trace' },
      // No number in it could be mistaken for a status.
      emulator: { banks: [{ code: 'a', ispb: 'b', name: 'c' }] },
      before: (emulator) => (hasList ? undefined : emulator.respondWith(script)),
    });
    if (hasList) {
      await eventually(() => rig.service.list.served() !== undefined);
      rig.emulator.respondWith(script);
      rig.clock.next();
    }
    await loadEnded();
  };

  test.each(STATUSES)('status %d reaches operators only, and its text nobody', async (status) => {
    const number = new RegExp(`\\b${status}\\b`);
    const toldStatus = new RegExp(`(?:status |\\()${status}\\b`);
    for (const [type, body] of TEXTS) {
      await start(status, type, body);
      const output = await publicFace();
      expect(number.exec(output)).toBeNull();
      expect(output.includes(MARK)).toBe(false);
      const toldToOperators = await managementFace();
      expect(toldStatus.test(toldToOperators)).toBe(true);
      expect(toldStatus.test(rig.log())).toBe(true);
      expect((toldToOperators + rig.log()).includes(MARK)).toBe(false);
      if (body !== TEXTS.at(-1)?.[1]) await rig.close();
    }
  });

  test('the text of an unusable 200 reaches nobody', async () => {
    for (const [type, body] of TEXTS) {
      await start(200, type, body);
      const output = (await publicFace()) + (await managementFace()) + rig.log();
      expect(output.includes(MARK)).toBe(false);
      if (body !== TEXTS.at(-1)?.[1]) await rig.close();
    }
  });
});

const BEHAVIOURS = Object.keys(listBehaviours).filter(
  (name): name is Behaviour => name in listBehaviours && !['healthy', 'slow', 'few', 'shrunk'].includes(name),
);
const AT_THE_DEADLINE = ['hang', 'stall', 'drip'];

test.each(BEHAVIOURS)("none of the emulator's text gets out while it does %s", async (behaviour) => {
  rig = await startRig({
    env: { MANAGEMENT_TOKEN: TOKEN, LOG_LEVEL: 'trace' },
    before: (emulator) => emulator.behave(behaviour),
  });
  if (AT_THE_DEADLINE.includes(behaviour)) {
    await eventually(() => rig.emulator.listCalls() === 1);
    rig.clock.advance(5_000);
  }
  await eventually(() => rig.service.list.status().nextLoadInMs > 0);
  const output = (await publicFace()) + rig.log();
  expect(output.includes(INTERNAL_DETAIL)).toBe(false);
  expect(/<html|<title|maintenance/i.exec(output)).toBeNull();
});

test("none of the token endpoint's text gets out, and its status reaches operators only", async () => {
  rig = await startRig({
    env: { MANAGEMENT_TOKEN: TOKEN, LOG_LEVEL: 'trace' },
    envFor: clientCredentialsEnv,
    before: (emulator) => emulator.behaveToken('rate-limited'),
  });
  await loadEnded();
  expect(/\b429\b/.exec(await publicFace())).toBeNull();
  expect(rig.log()).toMatch(/the rate is limited \(429\)/);
  expect(rig.log()).not.toContain(INTERNAL_DETAIL);
});
