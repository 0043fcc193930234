import { describe, expect, test } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

// The shape of src/: small files in small folders, and imports that run one way. (The linter checks the length of functions,
// and borders.test.ts which packages a room may import.)

/** From the lowest to the highest: a file imports from its own room and from those before it. */
const ORDER = `
  clock.ts deadline.ts error-code.ts http-date.ts nearest-name.ts packages.d.ts regular-file.ts version.ts
  secrets config banks failure-kinds.ts provider sharing telemetry core.ts http operators doctor
  service.ts commands main.ts`
  .trim()
  .split(/\s+/);
const MAX_FILES_IN_A_FOLDER = 12;
const MAX_LINES = 300;
const MAX_MEDIAN_LINES_OF_CODE = 60;

const entries = readdirSync('src', { withFileTypes: true, recursive: true }).filter((entry) =>
  entry.isFile(),
);
const paths = entries.map((entry) => relative('src', join(entry.parentPath, entry.name)));
const modules = paths.filter((path) => path.endsWith('.ts'));
const textOf = (path: string): string => readFileSync(join('src', path), 'utf8');
const roomOf = (path: string): string => path.split('/')[0] ?? '';

/** The files that `path` imports or re-exports, types included, statically or with `import()`. */
const importsOf = (path: string): string[] =>
  [...textOf(path).matchAll(/(?:\bfrom|\bimport|\bimport\()\s*'(\.[^']+)'/g)].map(([, specifier = '']) =>
    join(dirname(path), specifier),
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

const linesOfCode = (path: string): number =>
  textOf(path)
    .replaceAll(/\/\*[^]*?\*\//g, '')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.trim().startsWith('//')).length;

test('every room and file at the top has its place in the order', () => {
  expect(new Set(modules.map(roomOf))).toEqual(new Set(ORDER));
});

test('no folder has more files than one can survey', () => {
  const crowded = [...new Set(paths.map(dirname))]
    .map((folder) => [folder, paths.filter((path) => dirname(path) === folder).length] as const)
    .filter(([, count]) => count > MAX_FILES_IN_A_FOLDER);
  expect(crowded).toEqual([]);
});

describe('no file is long', () => {
  test('each has at most 300 lines', () => {
    const lengths = modules.map((path) => [path, textOf(path).split('\n').length - 1] as const);
    expect(lengths.filter(([, lines]) => lines > MAX_LINES)).toEqual([]);
  });

  test('half of them have at most 60 lines of code', () => {
    const lengths = modules.map(linesOfCode).toSorted((a, b) => a - b);
    expect(lengths[Math.floor(lengths.length / 2)]).toBeLessThanOrEqual(MAX_MEDIAN_LINES_OF_CODE);
  });
});

describe('imports', () => {
  test('are all found', () => {
    // Static, types only, and dynamic.
    expect(importsByPath.get('http/public-listener.ts')).toEqual(
      expect.arrayContaining(['http/cors.ts', 'banks/bank-list.ts', 'http/app.ts']),
    );
    const missing = [...importsByPath].flatMap(([path, imported]) =>
      imported.filter((name) => !paths.includes(name)).map((name) => `${path} imports ${name}`),
    );
    expect(missing).toEqual([]);
  });

  test('never run upwards', () => {
    const upwards = [...importsByPath].flatMap(([path, imported]) =>
      imported
        .filter((name) => ORDER.indexOf(roomOf(name)) > ORDER.indexOf(roomOf(path)))
        .map((name) => `${path} imports ${name}`),
    );
    expect(upwards).toEqual([]);
  });

  test('make no circle', () => {
    expect(modules.map(circleAt).filter(({ length }) => length > 0)).toEqual([]);
  });
});
