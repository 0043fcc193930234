import { expect, test } from '@jest/globals';
import supertest from 'supertest';
import { postRefresh } from './helpers/management-port.ts';
import { startLoadedRig } from './helpers/rig.ts';
import { MANAGEMENT_TOKEN } from './helpers/sandbox.ts';

// What an upstream response reveals: its status code to operators, the kind of a failure to
// everyone, and nothing of its text.

const MARK = 'MARKED-UPSTREAM-TEXT';

/** Everything that a port says, without what it draws or counts itself. */
const faceOf = async (url: string, paths: readonly string[]): Promise<string> => {
  const said: string[] = [];
  for (const path of paths) {
    const { headers, text } = await supertest(url).get(path);
    const { date: _date, 'x-request-id': _id, ...output } = headers;
    said.push(JSON.stringify(output), text);
  }
  return said.join('\n');
};
const PUBLIC = ['/banks', '/healthz', '/readyz', '/openapi.json', '/nothing'];
const MANAGEMENT = ['/', '/metrics', '/healthz', '/readyz'];

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

/**
 * None of the statuses but 200 is one of the service's own. Each is another failure than the one
 * before, and logged as such.
 */
const ANSWERS: readonly (readonly [status: number, type: string, body: string])[] = [
  [418, 'application/json', JSON.stringify({ error: MARK, detail: MARK })],
  [200, 'text/html', `<title>${MARK}</title>`],
  [599, 'application/json', `[${MARK}`],
  [200, 'application/json', JSON.stringify({ error: MARK, detail: MARK })],
  [302, `application/${MARK}`, MARK],
];

test.each([
  ['without a list', 'html'],
  ['with a list', 'healthy'],
] as const)(
  '%s, an unusual status reaches operators only, and the text of a response nobody',
  async (_what, first) => {
    const rig = await startLoadedRig({
      env: { MANAGEMENT_TOKEN, LOG_LEVEL: 'trace' },
      // No number in it could be mistaken for a status.
      emulator: { banks: [{ code: 'a', ispb: 'b', name: 'c' }] },
      before: (emulator) => emulator.behave(first),
    });
    for (const [status, type, body] of ANSWERS) {
      rig.emulator.respondWith((_req, res) => {
        res.writeHead(status, MARK, { ...MARKED_HEADERS, 'Content-Type': type }).end(body);
      });
      const refreshed = JSON.stringify(await postRefresh(rig.managementUrl));
      expect(rig.service.list.served() !== undefined).toBe(first === 'healthy');
      const toPublic = await faceOf(rig.url, PUBLIC);
      const toOperators = refreshed + (await faceOf(rig.managementUrl, MANAGEMENT));
      expect((toPublic + toOperators + rig.log()).includes(MARK)).toBe(false);
      if (status === 200) continue;
      expect(new RegExp(`\\b${status}\\b`).exec(toPublic)).toBeNull();
      for (const told of [toOperators, rig.log()])
        expect(told).toMatch(new RegExp(`(?:status |\\()${status}\\b`));
    }
  },
);
