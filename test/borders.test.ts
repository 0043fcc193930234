import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';

// Which room may import what. Each forbidden import is planted in a tree of its own, and the linter must refuse it there
// with the project's own configuration.

/** For each room: the other rooms, and the packages with a border, that it may import. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  secrets: [],
  config: ['secrets', 'proxy-addr'],
  banks: ['lru-cache'],
  provider: ['banks', 'config', 'secrets', 'undici', 'oauth4webapi'],
  sharing: ['banks', 'config', 'secrets', 'redis'],
  telemetry: ['banks', 'config', 'secrets', 'provider', 'sharing', 'pino', 'prom-client'],
  http: ['banks', 'config', 'secrets', 'telemetry'].concat([
    'express',
    'pino',
    'pino-http',
    'helmet',
    'lru-cache',
    'negotiator',
    'proxy-addr',
    'node:http',
  ]),
  operators: ['banks', 'config', 'secrets', 'telemetry', 'http', 'express', 'pino', 'node:http'],
  doctor: ['banks', 'config', 'secrets', 'provider', 'undici'],
  commands: ['config', 'secrets', 'telemetry', 'doctor', 'service'],
};
const ROOMS = Object.keys(MAY_IMPORT);
const PACKAGES = ['express', 'undici', 'redis', 'pino', 'pino-http', 'prom-client', 'helmet'].concat([
  'oauth4webapi',
  'lru-cache',
  'negotiator',
  'proxy-addr',
  'node:http',
]);

/** The folders of `src/` with code in them, nested ones included. */
const folders = readdirSync('src', { withFileTypes: true, recursive: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
  .map((entry) => relative('src', entry.parentPath));
const nestedRooms = [...new Set(folders)].filter((folder) => folder !== '');

const importable = [
  ...ROOMS.map((room) => ({ name: room, path: `src/${room}/some-file.ts` })),
  ...['service', 'main'].map((name) => ({ name, path: `src/${name}.ts` })),
  { name: 'emulator', path: 'emulator/emulator.ts' },
  { name: 'test', path: 'test/kit/rig.ts' },
  ...PACKAGES.map((name) => ({ name, path: undefined })),
];

/** Each import that could be planted, and whether the room may have it. */
const planted = nestedRooms.flatMap((folder) => {
  const room = folder.split('/')[0] ?? '';
  return importable
    .filter(({ name }) => name !== room)
    .map(({ name, path }, index) => ({
      file: join('src', folder, `planted-${index}.ts`),
      specifier: path === undefined ? name : relative(join('src', folder), path),
      isAllowed: MAY_IMPORT[room]?.includes(name) === true,
      title: `src/${folder} imports ${name}`,
    }));
});

describe('the linter', () => {
  const tree = mkdtempSync(join(tmpdir(), 'banks-bff-borders-'));
  let refused: ReadonlySet<string>;

  beforeAll(() => {
    copyFileSync('.oxlintrc.json', join(tree, '.oxlintrc.json'));
    for (const { file, specifier } of planted) {
      mkdirSync(dirname(join(tree, file)), { recursive: true });
      writeFileSync(
        join(tree, file),
        `import * as planted from '${specifier}';\nexport const use = planted;\n`,
      );
    }
    const { stdout } = spawnSync(resolve('node_modules/.bin/oxlint'), ['--format', 'unix', 'src'], {
      cwd: tree,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    });
    const lines = stdout.split('\n').filter((line) => line.includes('no-restricted-imports'));
    refused = new Set(lines.map((line) => relative(tree, resolve(tree, line.split(':')[0] ?? ''))));
  });
  afterAll(() => rmSync(tree, { recursive: true }));

  test('knows every room', () => {
    expect(new Set(nestedRooms.map((folder) => folder.split('/')[0]))).toEqual(new Set(ROOMS));
  });

  test.each(planted.filter(({ isAllowed }) => !isAllowed))('refuses that $title', ({ file }) => {
    expect(refused).toContain(file);
  });

  test.each(planted.filter(({ isAllowed }) => isAllowed))('accepts that $title', ({ file }) => {
    expect(refused).not.toContain(file);
  });
});
