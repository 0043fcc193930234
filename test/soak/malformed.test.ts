import { expect, test } from '@jest/globals';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Environment } from '../../src/config/reader.ts';
import { MALFORMED, MARK, SANDBOX } from '../kit/malformed.ts';
import { runNode } from '../kit/program.ts';

// Every malformed configuration through the built process: status 1 within 2 s, nothing listening, the variable named.

const LIMIT_MS = 2_000;
/** At a time: more would measure the machine. */
const PROCESSES = 2;

/** Problems that only the process finds. */
const UNREADABLE: readonly (readonly [name: string, env: Environment])[] = [
  ['PROVIDER_TLS_CA_FILE', { PROVIDER_TLS_CA_FILE: `/${MARK}/ca.pem` }],
  ['PROVIDER_ACCESS_TOKEN_FILE', { PROVIDER_ACCESS_TOKEN: '', PROVIDER_ACCESS_TOKEN_FILE: `/${MARK}/token` }],
  ['CACHE_REDIS_URL_FILE', { CACHE_REDIS_URL_FILE: `/${MARK}/url` }],
];

/** A variable that contains a zero byte can only come from a `.env` file. */
const isForFile = ([, value]: [string, string | undefined]): boolean => value?.includes('\0') === true;

/** Runs the service with it, and says what it promised and did not do. */
const judge = async (name: string, addition: Environment) => {
  const cwd = mkdtempSync(join(tmpdir(), 'banks-bff-'));
  const variables = Object.entries({ HOST: '127.0.0.1', ...SANDBOX, ...addition });
  const lines = variables.filter(isForFile).map(([variable, value]) => `${variable}=${value}\n`);
  if (lines.length > 0) writeFileSync(join(cwd, '.env'), lines.join(''));
  const env = Object.fromEntries(variables.filter((entry) => !isForFile(entry)));
  const startedAtMs = performance.now();
  const { child, exit, output } = runNode(resolve('dist/src/main.js'), { env, cwd });
  const giveUp = setTimeout(() => child.kill('SIGKILL'), 2 * LIMIT_MS);
  const status = await exit;
  clearTimeout(giveUp);
  const tookMs = performance.now() - startedAtMs;
  const named = output()
    .split('\n')
    .filter((line) => line.startsWith('  ') && line.split(':')[0]?.trim().split(', ').includes(name));
  const broken = [
    status === 1 || `status ${status}`,
    tookMs < LIMIT_MS || `took ${tookMs.toFixed(0)} ms`,
    named.length > 0 || `${name} is not named`,
    !output().includes(MARK) || 'the value is repeated',
    !output().includes('"listening"') || 'it listened',
    !/^ +at /m.test(output()) || 'a stack trace',
  ].filter((promise) => typeof promise === 'string');
  return { name, addition, tookMs, broken };
};

test(`each ends the process within ${LIMIT_MS / 1_000} s, with status 1 and its variable named`, async () => {
  const left = [...MALFORMED, ...UNREADABLE];
  const judged: Awaited<ReturnType<typeof judge>>[] = [];
  const work = async (): Promise<void> => {
    for (let next = left.pop(); next; next = left.pop()) judged.push(await judge(...next));
  };
  await Promise.all(Array.from({ length: PROCESSES }, work));
  const slowestMs = Math.max(...judged.map(({ tookMs }) => tookMs));
  process.stdout.write(`${judged.length} malformed configurations, slowest ${slowestMs.toFixed(0)} ms\n`);
  expect(judged.filter(({ broken }) => broken.length > 0)).toEqual([]);
}, 120_000);
