import { describe, expect, test } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

// The shape of src/: files that one can survey, names with one meaning, and imports that run one way. (The linter checks the
// length of functions.)

/** The rooms from the lowest to the highest, each with the rooms and packages that it may import. */
const MAY_IMPORT: Readonly<Record<string, string>> = {
  secrets: '',
  config: 'secrets proxy-addr',
  banks: 'lru-cache',
  'failure-kinds.ts': 'banks',
  provider: 'secrets config banks undici oauth4webapi',
  sharing: 'secrets config banks redis',
  telemetry: 'secrets config banks provider sharing pino prom-client',
  'core.ts': 'config banks provider sharing telemetry',
  http: 'secrets config banks telemetry express helmet lru-cache negotiator node:http pino pino-http proxy-addr',
  operators: 'secrets config banks failure-kinds.ts telemetry http express node:http pino',
  doctor: 'secrets config banks failure-kinds.ts provider undici redis',
  'service.ts': 'secrets config banks core.ts telemetry http operators pino',
  commands: 'secrets config telemetry doctor service.ts',
  'main.ts': 'secrets telemetry commands',
};
const MAX_FILES_IN_A_FOLDER = 12;
const MAX_LINES = 300;

const entries = readdirSync('src', { withFileTypes: true, recursive: true }).filter((entry) =>
  entry.isFile(),
);
const paths = entries.map((entry) => relative('src', join(entry.parentPath, entry.name)));
const modules = paths.filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts'));
const textOf = (path: string): string => readFileSync(join('src', path), 'utf8');
/** `shared` for the single files that every room may use. */
const roomOf = (path: string): string => {
  const [room = ''] = path.split('/');
  return room.endsWith('.ts') && !Object.hasOwn(MAY_IMPORT, room) ? 'shared' : room;
};

/** What `path` imports or re-exports, types included, statically or with `import()`: paths in src/, and packages. */
const importsOf = (path: string): string[] =>
  [...textOf(path).matchAll(/(?:\bfrom|\bimport|\bimport\()\s*'([^'\s]+)'/g)].map(([, specifier = '']) =>
    specifier.startsWith('.') ? join(dirname(path), specifier) : specifier,
  );
const importsByPath = new Map(modules.map((path) => [path, importsOf(path)]));

/** The shortest circle of imports through `start`, which is its first and last file; empty if there is none. */
const circleAt = (start: string): string[] => {
  const cameFrom = new Map<string, string>();
  const queue = [start];
  for (const path of queue) {
    for (const imported of importsByPath.get(path) ?? []) {
      if (imported === start) {
        const circle = [path];
        while (circle[0] !== start) circle.unshift(cameFrom.get(circle[0] ?? '') ?? start);
        return [...circle, start];
      }
      if (!cameFrom.has(imported)) {
        cameFrom.set(imported, path);
        queue.push(imported);
      }
    }
  }
  return [];
};

test('every room has its borders', () => {
  expect(new Set(modules.map(roomOf))).toEqual(new Set(['shared', ...Object.keys(MAY_IMPORT)]));
});

test('no folder has more files than one can survey', () => {
  const crowded = [...new Set(paths.map(dirname))]
    .map((folder) => [folder, paths.filter((path) => dirname(path) === folder).length] as const)
    .filter(([, count]) => count > MAX_FILES_IN_A_FOLDER);
  expect(crowded).toEqual([]);
});

test('no file has more than 300 lines', () => {
  const lengths = modules.map((path) => [path, textOf(path).split('\n').length - 1] as const);
  expect(lengths.filter(([, lines]) => lines > MAX_LINES)).toEqual([]);
});

test('the core has its time from clock.ts, but for a pause and the age of a file', () => {
  const REAL_TIME = /\b(?:performance\.now|Date\.now|new Date\(\)|setImmediate|setTimeout|setInterval)\b/;
  const core = modules.filter((path) => ['banks', 'provider', 'sharing'].includes(roomOf(path)));
  const real = core.filter((path) => REAL_TIME.test(textOf(path)));
  expect(real.toSorted()).toEqual(['provider/body.ts', 'sharing/replace-file.ts']);
});

describe('names', () => {
  const DEFINITION = /^(?:export )?(?:const|let|function|class|interface|type) (\w+)/gm;
  const definitions = modules.flatMap((path) =>
    [...textOf(path).matchAll(DEFINITION)].map(([, name = '']) => ({ name, path })),
  );

  test('are defined in one file', () => {
    const places = new Map<string, Set<string>>();
    for (const { name, path } of definitions) places.set(name, (places.get(name) ?? new Set()).add(path));
    expect([...places].filter(([, files]) => files.size > 1)).toEqual([]);
  });

  test('shadow no global', () => {
    expect(definitions.filter(({ name }) => name in globalThis)).toEqual([]);
  });
});

describe('imports', () => {
  test('are all found', () => {
    // Static, types only, and dynamic; packages too.
    expect(importsByPath.get('http/public-listener.ts')).toEqual(
      expect.arrayContaining(['http/cors.ts', 'banks/bank-list.ts', 'http/app.ts']),
    );
    expect(importsByPath.get('provider/token-endpoint.ts')).toContain('oauth4webapi');
    const missing = [...importsByPath].flatMap(([path, imported]) =>
      imported
        .filter((name) => name.endsWith('.ts') && !modules.includes(name))
        .map((name) => `${path} imports ${name}`),
    );
    expect(missing).toEqual([]);
  });

  test('stay within the borders of each room', () => {
    const isAllowed = (path: string, imported: string): boolean => {
      const room = roomOf(path);
      const target = paths.includes(imported) ? roomOf(imported) : imported;
      if (target === room || target === 'shared') return true;
      if (target.startsWith('node:') && target !== 'node:http') return true;
      return (MAY_IMPORT[room] ?? '').split(' ').includes(target);
    };
    const forbidden = [...importsByPath].flatMap(([path, imported]) =>
      imported.filter((name) => !isAllowed(path, name)).map((name) => `${path} imports ${name}`),
    );
    expect(forbidden).toEqual([]);
  });

  test('never run upwards', () => {
    const order = Object.keys(MAY_IMPORT);
    const upwards = order.filter((room, index) =>
      MAY_IMPORT[room]?.split(' ').some((name) => order.indexOf(name) > index),
    );
    expect(upwards).toEqual([]);
  });

  test('make no circle', () => {
    expect(modules.map(circleAt).filter(({ length }) => length > 0)).toEqual([]);
  });
});
