import { afterEach, expect, test } from '@jest/globals';
import { sendRaw } from '../kit/raw-http.ts';
import { eventually, startRig, type Rig } from '../kit/rig.ts';

// What helmet sets on every answer, and what it must not.

let rig: Rig;
afterEach(() => rig.close());

const END = 'Host: a\r\nConnection: close\r\n\r\n';

test('every answer of both ports has the security headers, and none promises HTTPS for the host name', async () => {
  rig = await startRig();
  await eventually(() => rig.service.list.served() !== undefined);
  const requests: [url: string, request: string, status: number][] = [
    [rig.url, `GET /banks HTTP/1.1\r\n${END}`, 200],
    [rig.url, `GET /banks HTTP/1.1\r\nIf-None-Match: *\r\n${END}`, 304],
    [rig.url, `GET /healthz HTTP/1.1\r\n${END}`, 200],
    [rig.url, `OPTIONS /banks HTTP/1.1\r\n${END}`, 204],
    [rig.url, `GET /nothing HTTP/1.1\r\n${END}`, 404],
    [rig.url, 'not HTTP\r\n\r\n', 400],
    [rig.operatorsUrl, `GET /readyz HTTP/1.1\r\n${END}`, 200],
    [rig.operatorsUrl, `GET /nothing HTTP/1.1\r\n${END}`, 404],
  ];
  for (const [url, request, status] of requests) {
    const [answer] = await sendRaw(url, request);
    expect(answer?.status).toBe(status);
    expect(answer?.headers.get('x-content-type-options')).toBe('nosniff');
    expect(answer?.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(answer?.headers.has('strict-transport-security')).toBe(false);
  }
});
