import { expect, test } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

// The shape of src/ and of the programs beside it: names with one meaning, and imports that run one
// way. (The linter finds circles of imports, and long files and functions.)

/**
 * The modules of src/ and the programs beside it, from the lowest to the highest, each with what it
 * may import: modules, and of packages what a module of src/ needs.
 */
const MAY_IMPORT: Readonly<Record<string, string>> = {
  secrets: '',
  config: 'secrets proxy-addr zod',
  'failure-kinds.ts': '',
  banks: 'failure-kinds.ts lru-cache',
  provider: 'secrets config banks undici zod',
  sharing: 'secrets config banks @redis/client zod',
  telemetry: 'secrets config banks provider sharing pino prom-client',
  'http-front': 'node:http',
  http: 'secrets config failure-kinds.ts banks sharing telemetry http-front express helmet lru-cache negotiator node:http pino pino-http proxy-addr',
  management:
    'secrets config banks failure-kinds.ts sharing telemetry http-front http express node:http',
  'parts.ts': 'secrets config banks provider sharing',
  doctor: 'secrets config banks failure-kinds.ts provider sharing parts.ts undici',
  'service.ts': 'secrets config banks provider sharing telemetry http management parts.ts',
  commands: 'secrets config banks provider sharing telemetry parts.ts doctor service.ts',
  'main.ts': 'secrets telemetry commands',
  emulator: '',
  'examples/demo-page': '',
  'examples/look-up': '',
  // Runs the service, the emulator and the page together.
  'emulator/demo.ts': 'src emulator examples/demo-page',
  'test/helpers': 'src emulator examples/demo-page',
  'tools/bench': 'emulator test/helpers',
  'tools/soak': 'emulator test/helpers',
};
const ORDER = Object.keys(MAY_IMPORT);

/** The TypeScript files in each folder, by their paths. */
const filesIn = (...folders: readonly string[]): string[] =>
  folders
    .flatMap((folder) => readdirSync(folder, { withFileTypes: true, recursive: true }))
    .filter((entry) => entry.isFile() && /(?<!\.d)\.ts$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !path.includes('node_modules'));
const textOf = (path: string): string => readFileSync(path, 'utf8');

/**
 * The module or program of a file: the longest name in the list, or its folder. `shared` for the
 * single files in src/ that every module may use.
 */
const partOf = (path: string): string => {
  const name = path.replace(/^src\//, '');
  const [part] = ORDER.filter((known) => `${name}/`.startsWith(`${known}/`)).toSorted(
    (a, b) => b.length - a.length,
  );
  return part ?? (dirname(path) === 'src' ? 'shared' : dirname(name));
};

/** What a file imports or re-exports from, types included, statically or with `import()`. */
const importsOf = (path: string): string[] =>
  [...textOf(path).matchAll(/(?:\bfrom|\bimport|\bimport\()\s*'([^'\s]+)'/g)].map(
    ([, specifier = '']) =>
      specifier.startsWith('.') ? join(dirname(path), specifier) : specifier,
  );

test('banks, provider and sharing have their time from clock.ts, so that tests can move it', () => {
  const REAL_TIME =
    /\b(?:performance\.now|Date\.now|new Date\(\)|setImmediate|setTimeout|setInterval)\b/;
  const core = filesIn('src/banks', 'src/provider', 'src/sharing');
  expect(core.filter((path) => REAL_TIME.test(textOf(path)))).toEqual([]);
});

test('a name is defined in one file, and shadows no global', () => {
  const DEFINITION = /^(?:export )?(?:const|let|function|class|interface|type) (\w+)/gm;
  const places = new Map<string, Set<string>>();
  for (const path of filesIn('src'))
    for (const [, name = ''] of textOf(path).matchAll(DEFINITION))
      places.set(name, (places.get(name) ?? new Set()).add(path));
  expect(
    [...places].filter(([name, definedIn]) => definedIn.size > 1 || name in globalThis),
  ).toEqual([]);
});

test('http-front imports nothing of the service, which imports only its index', () => {
  const crossing = filesIn('src').flatMap((path) =>
    importsOf(path)
      .filter((target) => target.startsWith('src/') && partOf(target) !== partOf(path))
      .filter((target) => [partOf(path), partOf(target)].includes('http-front'))
      .map((target) => `${path} imports ${target}`),
  );
  expect(crossing.filter((text) => !text.endsWith(' imports src/http-front/index.ts'))).toEqual([]);
  expect(crossing).not.toEqual([]);
});

test('every module and program is listed, and imports only what the list allows, never from above', () => {
  const files = filesIn('src', 'emulator', 'examples', 'test/helpers', 'tools');
  expect(new Set(files.map(partOf))).toEqual(new Set(['shared', ...ORDER]));
  const mayImport = (path: string, target: string): boolean => {
    const part = partOf(path);
    const isInSrc = path.startsWith('src/');
    const allowed = [part, ...(MAY_IMPORT[part] ?? '').split(' '), ...(isInSrc ? ['shared'] : [])];
    if (!/\.(?:ts|json)$/.test(target)) {
      const isBuiltIn = target.startsWith('node:') && target !== 'node:http';
      return isBuiltIn || allowed.includes(target) || !isInSrc;
    }
    if (ORDER.indexOf(partOf(target)) > ORDER.indexOf(part)) return false;
    // `src`: all of it.
    return allowed.includes(partOf(target)) || allowed.includes(target.replace(/\/.*/, ''));
  };
  const forbidden = files.flatMap((path) =>
    importsOf(path)
      .filter((target) => !mayImport(path, target))
      .map((target) => `${path} imports ${target}`),
  );
  expect(forbidden).toEqual([]);
});
