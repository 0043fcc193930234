import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import helmet from 'helmet';
import type { Cors } from './cors.ts';
import type { FlatHeaders } from './headers.ts';

// Helmet's headers for answers that are data: nothing in them may be run, framed or embedded beyond what CORS allows.

/** Runs helmet once, at start: none of its headers depends on the request. */
export const createSecurityHeaders = ({ resourcePolicy }: Pick<Cors, 'resourcePolicy'>): FlatHeaders => {
  const req = new IncomingMessage(new Socket());
  const res = new ServerResponse(req);
  helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { 'default-src': ["'none'"], 'frame-ancestors': ["'none'"] },
    },
    crossOriginResourcePolicy: { policy: resourcePolicy },
    referrerPolicy: { policy: 'no-referrer' },
    xFrameOptions: { action: 'deny' },
  })(req, res, (error) => {
    if (error) throw error;
  });
  return Object.entries(res.getHeaders()).flatMap(([name, value]) => [name, String(value)]);
};
