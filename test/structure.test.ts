import { expect, test } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

// The shape of src/ and of the programs beside it: names with one meaning, and imports that run one
// way. (The linter finds circles of imports, and long files and functions.)

/**
 * The modules from the lowest to the highest, each with the modules and packages that it may
 * import.
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
};

/**
 * What is beside src/, from the lowest to the highest, each with what it may import besides its own
 * files and packages.
 */
const PROGRAMS: Readonly<Record<string, string>> = {
  emulator: '',
  'examples/demo-page': '',
  'examples/look-up': '',
  // Runs the service, the emulator and the page together.
  'emulator/demo.ts': 'src emulator examples/demo-page',
  'test/helpers': 'src emulator examples/demo-page',
  'tools/bench': 'emulator test/helpers',
  'tools/soak': 'emulator test/helpers',
};

/** The TypeScript files in `folder`, by their paths in it. */
const filesIn = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && /(?<!\.d)\.ts$/.test(entry.name))
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .filter((path) => !path.includes('node_modules'));
const files = filesIn('src');
const textOf = (path: string): string => readFileSync(join('src', path), 'utf8');
/** `shared` for the single files that every module may use. */
const moduleOf = (path: string): string => {
  const [module = ''] = path.split('/');
  return module.endsWith('.ts') && !Object.hasOwn(MAY_IMPORT, module) ? 'shared' : module;
};

/** What a text imports or re-exports from, types included, statically or with `import()`. */
const specifiersIn = (text: string): string[] =>
  [...text.matchAll(/(?:\bfrom|\bimport|\bimport\()\s*'([^'\s]+)'/g)].map(
    ([, specifier = '']) => specifier,
  );

/** The modules and packages that `path` imports. */
const importsOf = (path: string): string[] =>
  specifiersIn(textOf(path)).map((specifier) =>
    specifier.startsWith('.') ? moduleOf(join(dirname(path), specifier)) : specifier,
  );

test('banks, provider and sharing have their time from clock.ts, so that tests can move it', () => {
  const REAL_TIME =
    /\b(?:performance\.now|Date\.now|new Date\(\)|setImmediate|setTimeout|setInterval)\b/;
  const core = files.filter((path) => ['banks', 'provider', 'sharing'].includes(moduleOf(path)));
  expect(core.filter((path) => REAL_TIME.test(textOf(path)))).toEqual([]);
});

test('a name is defined in one file, and shadows no global', () => {
  const DEFINITION = /^(?:export )?(?:const|let|function|class|interface|type) (\w+)/gm;
  const places = new Map<string, Set<string>>();
  for (const path of files)
    for (const [, name = ''] of textOf(path).matchAll(DEFINITION))
      places.set(name, (places.get(name) ?? new Set()).add(path));
  expect(
    [...places].filter(([name, definedIn]) => definedIn.size > 1 || name in globalThis),
  ).toEqual([]);
});

test('http-front imports nothing of the service, which imports only its index', () => {
  const crossing = files.flatMap((path) =>
    [...textOf(path).matchAll(/(?:\bfrom|\bimport\()\s*'(\.[^'\s]+)'/g)]
      .map(([, specifier = '']) => join(dirname(path), specifier))
      .filter((target) => moduleOf(target) !== moduleOf(path))
      .filter((target) => [moduleOf(path), moduleOf(target)].includes('http-front'))
      .map((target) => `${path} imports ${target}`),
  );
  expect(crossing.filter((text) => !text.endsWith(' imports http-front/index.ts'))).toEqual([]);
  expect(crossing).not.toEqual([]);
});

test('every module is listed, and imports only what the list allows, never from a module above', () => {
  const order = Object.keys(MAY_IMPORT);
  expect(new Set(files.map(moduleOf))).toEqual(new Set(['shared', ...order]));
  const isForbidden = (module: string, target: string): boolean =>
    !['shared', module, ...(MAY_IMPORT[module] ?? '').split(' ')].includes(target) ||
    order.indexOf(target) > order.indexOf(module);
  const forbidden = files.flatMap((path) =>
    importsOf(path)
      .filter((target) => target === 'node:http' || !target.startsWith('node:'))
      .filter((target) => isForbidden(moduleOf(path), target))
      .map((target) => `${path} imports ${target}`),
  );
  expect(forbidden).toEqual([]);
});

test('every program beside src/ is listed, and imports only what the list allows', () => {
  const names = Object.keys(PROGRAMS);
  /** The program that `path` is of, by the longest of the names; otherwise the first folder. */
  const programOf = (path: string): string =>
    names
      .filter((name) => `${path}/`.startsWith(`${name}/`))
      .toSorted((a, b) => b.length - a.length)[0] ?? path.replace(/\/.*/, '');
  const programs = ['emulator', 'examples', 'test/helpers', 'tools'].flatMap((folder) =>
    filesIn(folder).map((path) => join(folder, path)),
  );
  expect(new Set(programs.map(programOf))).toEqual(new Set(names));
  const forbidden = programs.flatMap((path) => {
    const program = programOf(path);
    const allowed = [program, ...(PROGRAMS[program] ?? '').split(' ')];
    return specifiersIn(readFileSync(path, 'utf8'))
      .filter((specifier) => specifier.startsWith('.'))
      .map((specifier) => join(dirname(path), specifier))
      .filter((target) => {
        const name = programOf(target);
        return !allowed.includes(name) || names.indexOf(name) > names.indexOf(program);
      })
      .map((target) => `${path} imports ${target}`);
  });
  expect(forbidden).toEqual([]);
});
