import { afterEach, expect, test } from '@jest/globals';
import type { RequestListener, ServerResponse } from 'node:http';
import supertest from 'supertest';
import { INTERNAL_DETAIL } from '../emulator/answers.ts';
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

const load = async (script: RequestListener): Promise<void> => {
  rig.emulator.respondWith(script);
  await rig.service.list.refresh();
};

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

/** None of the statuses is one of the service's own. */
const ANSWERS: readonly (readonly [status: number, type: string, body: string])[] = [
  [207, 'text/html', `<title>${MARK}</title>`],
  [302, `application/${MARK}`, MARK],
  [418, 'application/json', JSON.stringify({ error: MARK, detail: MARK })],
  [599, 'application/json', `[${MARK}`],
];

test.each([
  ['without a list', false],
  ['with a list', true],
])(
  '%s, an unusual status reaches operators only, and the text of an answer nobody',
  async (_name, hasList) => {
    rig = await startRig({
      env: { MANAGEMENT_TOKEN: TOKEN, LOG_LEVEL: 'trace' },
      // No number in it could be mistaken for a status.
      emulator: { banks: [{ code: 'a', ispb: 'b', name: 'c' }] },
      before: (emulator) => emulator.behave(hasList ? 'healthy' : 'html'),
    });
    await eventually(() => rig.service.list.status().nextLoadInMs > 0);
    const texts = ANSWERS.map(([, ...text]) => [200, ...text] as const);
    for (const [status, type, body] of [...ANSWERS, ...texts]) {
      await load(answerWith(200, 'application/json', 'null'));
      // Now it is another failure, and logged as such.
      await load(answerWith(status, type, body));
      expect(rig.service.list.served() !== undefined).toBe(hasList);
      const toPublic = await publicFace();
      const toOperators = await managementFace();
      expect((toPublic + toOperators + rig.log()).includes(MARK)).toBe(false);
      if (status === 200) continue;
      expect(new RegExp(`\\b${status}\\b`).exec(toPublic)).toBeNull();
      const toldStatus = new RegExp(`(?:status |\\()${status}\\b`);
      expect(toOperators).toMatch(toldStatus);
      expect(rig.log()).toMatch(toldStatus);
    }
  },
);

test("none of the token endpoint's text gets out, and its status reaches operators only", async () => {
  rig = await startRig({
    env: { MANAGEMENT_TOKEN: TOKEN, LOG_LEVEL: 'trace' },
    envFor: clientCredentialsEnv,
    before: (emulator) => emulator.behaveToken('rate-limited'),
  });
  await rig.service.list.refresh();
  expect(/\b429\b/.exec(await publicFace())).toBeNull();
  expect(rig.log()).toMatch(/limits the rate \(429\)/);
  expect(rig.log()).not.toContain(INTERNAL_DETAIL);
});
