import express from 'express';
import helmet from 'helmet';
import { LRUCache } from 'lru-cache';
import { pinoHttp } from 'pino-http';
import pino from 'pino';
import compression from 'compression';
import apicache from 'apicache';
import { Agent, cacheStores, fetch, interceptors } from 'undici';

// A typical Express 5 application with one of three caches: lru-cache, apicache, or undici's cache interceptor.

const [kind, originPort, port] = process.argv.slice(2);
const origin = `http://127.0.0.1:${originPort}/banks`;
const store = new cacheStores.MemoryCacheStore();
const dispatcher = new Agent().compose(interceptors.cache({ store }));
const lists = new LRUCache({ max: 10, ttl: 3_600_000 });

const load = async () => (await fetch(origin)).json();
const banks = {
  lru: async () => {
    const cached = lists.get('banks');
    if (cached) return cached;
    const list = await load();
    lists.set('banks', list);
    return list;
  },
  apicache: load,
  undici: async () => (await fetch(origin, { dispatcher })).json(),
}[kind];

const app = express();
app.use(helmet());
app.use(pinoHttp({ logger: pino(pino.destination({ fd: 1, sync: false })) }));
app.use(compression());
if (kind === 'apicache') app.use(apicache.middleware('1 hour'));
app.get('/banks', async (_req, res) => {
  res.set('Cache-Control', 'public, max-age=300');
  res.json(await banks());
});
app.listen(Number(port), '127.0.0.1');
