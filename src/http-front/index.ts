// What the rest of the service sees: README.md explains it.

export { createHttpFront, type HttpFront } from './front.ts';
export type { HotPath } from './hot-path.ts';
export { LIMITS } from './limits.ts';
export type { RequestHead } from './refusals.ts';
export type { FlatHeaders } from './response-head.ts';
