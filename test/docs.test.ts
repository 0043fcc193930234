import { afterEach, describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { parseEnv, promisify } from 'node:util';
import { parseConfig } from '../src/config/config.ts';
import { PROBLEM_OF_LOAD_ERROR } from '../src/http/problems.ts';
import { eventually, startRig, type Rig, type RigOptions } from './kit/rig.ts';

// The documents are true: each command in them is run here, or is listed with the place where it is run or the reason why it
// cannot be; and what they repeat of the code is compared with the code.

const read = (path: string): string => readFileSync(path, 'utf8');
const filesOf = (folder: string, end: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(end))
    .map((name) => `${folder}/${name}`);

const PAGES = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...filesOf('docs', '.md')];

/** Commands that are not run here, each with where it is run or why it cannot be. */
const RUN_ELSEWHERE: ReadonlyMap<string, string> = new Map([
  ['npm ci && npm test', 'CI runs it as its first step'],
  ['npm ci && npm run demo', 'CI runs the two separately; demo.test.ts checks all that the demo prints'],
  ['npm ci && npm run build', 'CI runs the two apart'],
  ['npm run build', 'CI, before every test run'],
  ['npm ci', 'CI runs it first'],
  ['npm test -- test/failures.test.ts', 'CI runs all test files'],
  ['npm test -- test/failures.test.ts -t 503', 'CI runs all test files'],
  ['npm run check', 'CI runs it'],
  ['npm start', 'main.test.ts starts the built program'],
  ['npm run doctor', 'doctor.test.ts runs the built program'],
  ['npm run emulator', 'emulator.test.ts starts it'],
  ['cp .env.example .env', 'config.test.ts holds the file to be a good configuration for the emulator'],
  ['node dist/src/main.js doctor', 'doctor.test.ts runs the built program'],
  ['docker compose run --rm banks-bff doctor', 'CI has no Docker'],
  ['kubectl exec deployment/banks-bff -- node dist/src/main.js doctor', 'CI has no cluster'],
  ['npm run faults', 'it takes twenty minutes'],
  ['npm run faults -- sharing', 'as above'],
  ["npm run faults -- '/redis-connection/'", 'as above'],
  ['npm run mutation', 'it takes half an hour'],
  ['npm run mutation -- guard schedule', 'as above'],
  ['npm run mutation -- guard --mutate src/banks/guard/drift.ts', 'as above'],
  ['npm run bench', 'it needs a quiet machine for a quarter of an hour'],
  ['npm run soak', 'it takes an hour'],
  ['npm run soak -- --minutes 2', 'it is for trying the soak itself'],
  ['apt-get install nginx varnish wrk', 'CI installs what the tests need'],
  ['docker compose up', 'CI has no Docker'],
  ['docker build -t banks-bff .', 'CI has no Docker; the release workflow builds the image'],
  [
    'docker run --rm --env-file banks.env -v "$PWD/provider-token:/run/secrets/provider-token:ro" banks-bff doctor',
    'CI has no Docker; doctor.test.ts runs the built program',
  ],
  [
    'docker run -p 3000:3000 --env-file banks.env -v "$PWD/provider-token:/run/secrets/provider-token:ro" banks-bff',
    'CI has no Docker; main.test.ts starts the built program',
  ],
  ['docker compose -f docker-compose.yml -f compose.replicas.yml up --build', 'CI has no Docker'],
  [
    'npx openapi-typescript http://localhost:3000/openapi.json -o banks.d.ts',
    'examples/openapi-client.test.ts runs it and compiles a client',
  ],
  ['npm run rehearse:alerts', 'it is soak/alerts.test.ts'],
  ['kubectl apply -k deploy/kubernetes', 'CI has no cluster; kubernetes.test.ts builds it'],
  ['kubectl apply -k deploy/kubernetes/monitoring', 'CI has no cluster; kubernetes.test.ts builds it'],
  ['kubectl port-forward deployment/banks-bff 3001', 'CI has no cluster'],
  [
    'kubectl create secret generic banks-bff --from-file=provider-token --from-file=management-token --from-file=redis-url',
    'CI has no cluster; kubernetes.test.ts compares the keys of examples/secret.yaml with the Deployment',
  ],
  ['systemd-analyze verify deploy/systemd/banks-bff.service', 'systemd.test.ts runs it'],
  [
    'systemd-analyze security --offline=true deploy/systemd/banks-bff.service',
    'systemd.test.ts runs it, with a limit',
  ],
  [
    "grep -rl github.com/OWNER package.json deploy | xargs sed -i 's#github.com/OWNER#github.com/your-account#'",
    'once, when the repository has an owner; deployment.test.ts compares the places',
  ],
  ['npm run build && npm start', 'main.test.ts starts the built program'],
  ['npm ci --prefix examples/opentelemetry', 'examples/opentelemetry.test.ts installs it'],
  [
    'node --import ./examples/opentelemetry/register.mjs dist/src/main.js',
    'examples/opentelemetry.test.ts starts it',
  ],
]);

interface Exchange {
  readonly command: string;
  readonly output: string;
  /** The line before the command's block. */
  readonly lead: string;
}

/** The commands of a page's `sh` and `console` blocks; in the latter, with the output that the page shows. */
const exchangesOf = (page: string): Exchange[] =>
  [...read(page).matchAll(/([^\n]*)\n+```(sh|console)\n([^]*?)```/g)].flatMap(
    ([, lead = '', language, block = '']) =>
      language === 'console'
        ? [...block.matchAll(/^\$ (.*)\n((?:(?!\$ ).*\n)*)/gm)].map(
            ([, command = '', output = ''], index) => ({
              command,
              output,
              lead: index === 0 ? lead : '',
            }),
          )
        : block
            .split('\n')
            .filter((line) => line && !line.startsWith('#'))
            .map((command) => ({ command, output: '', lead })),
  );

/** A command without the variables that it sets for itself, its comment, and the bench's options. */
const bare = (command: string): string =>
  command
    .replace(/^(?:[A-Z_]+=\S+ +)+/, '')
    .replace(/ +#.*$/, '')
    .replace(/^(npm run bench).*/, '$1');
const isRunHere = ({ command }: Exchange): boolean => command.startsWith('curl ');
const isRunElsewhere = ({ command }: Exchange): boolean =>
  RUN_ELSEWHERE.has(bare(command)) || command.startsWith('export ');

test.each(PAGES)('each command in %s is run here, or is listed with the place where it is run', (page) => {
  const unknown = exchangesOf(page).filter((exchange) => !isRunHere(exchange) && !isRunElsewhere(exchange));
  expect(unknown.map(({ command }) => command)).toEqual([]);
});

describe('the commands that need a running service', () => {
  const rigs: Rig[] = [];
  const start = async (options: RigOptions): Promise<Rig> => {
    const rig = await startRig(options);
    rigs.push(rig);
    await eventually(() => rig.service.list.status().nextLoadInMs > 0);
    return rig;
  };
  afterEach(async () => {
    for (const rig of rigs.splice(0)) await rig.close();
  });

  /** What differs from run to run. */
  const mask = (text: string): string =>
    text
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
      .replaceAll(/"ageSeconds":\d+/g, '"ageSeconds":<age>')
      .replaceAll(/"version":"[^"]+"/g, '"version":"<version>"')
      .trimEnd();

  const run = async (command: string, { url, operatorsUrl, emulator }: Rig): Promise<string> => {
    const here = command
      .replaceAll('localhost:3000', url)
      .replaceAll('localhost:3001', operatorsUrl)
      .replaceAll('localhost:4001', emulator.controlUrl);
    // Without `pipefail`, as in a person's shell: `head` ends before curl has written everything.
    const { stdout } = await promisify(execFile)('bash', ['-c', here]);
    return stdout;
  };

  /** Lets `seconds` pass in steps, so that each load on the way ends before its deadline. */
  const pass = async (seconds: number, { clock, service }: Rig): Promise<void> => {
    for (let second = 0; second < seconds; second += 1) {
      clock.advance(1_000);
      await eventually(() => service.list.status().nextLoadInMs > 0);
    }
  };

  test.each(PAGES.filter((page) => exchangesOf(page).some(isRunHere)))(
    'in %s print what the page shows',
    async (page) => {
      // The README's commands are for the demo, whose list is fresh for 15 seconds.
      const CACHE_TTL = page === 'README.md' ? '15s' : '10s';
      let rig = await start({ env: { CACHE_TTL, MANAGEMENT_TOKEN: 'an-outage-rehearsal' } });
      const shown: string[] = [];
      const seen: string[] = [];
      for (const { command, output, lead } of exchangesOf(page).filter(isRunHere)) {
        const [, seconds] = /^(\d+) seconds later/.exec(lead) ?? [];
        if (seconds) await pass(Number(seconds), rig);
        if (lead.startsWith('Before the first list'))
          rig = await start({ before: (emulator) => emulator.behave('unavailable') });
        shown.push(command, mask(output));
        seen.push(command, mask(await run(command, rig)));
      }
      expect(seen).toEqual(shown);
    },
  );

  test("the README's script gets the list", async () => {
    const [, script = ''] = /```js\n([^]*?)```/.exec(read('README.md')) ?? [];
    const { url } = await start({});
    const here = script.replace('http://localhost:3000', url);
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', here]);
    expect(stdout).toBe('513 BCO DO BRASIL S.A.\n');
  });
});

test("the README's configuration for production is valid", () => {
  const [, text = ''] = /```ini\n([^]*?)```/.exec(read('README.md')) ?? [];
  expect(parseConfig(parseEnv(text)).provider.environment).toBe('production');
});

describe('what the documents repeat from the code', () => {
  const rowsOf = (page: string, heading: string): string[] => {
    const [, section = ''] = read(page).split(`\n## ${heading}\n`);
    return [...(section.split('\n## ')[0] ?? '').matchAll(/^\| (`[^|]*`) +\|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
    );
  };

  test('the kinds of failure are complete', () => {
    expect(rowsOf('docs/operations.md', 'Kinds of failure').toSorted()).toEqual(
      Object.keys(PROBLEM_OF_LOAD_ERROR).toSorted(),
    );
  });

  test('the alerts are complete and in the order of the rules', () => {
    const rules = read('deploy/prometheus/banks-bff.rules.yml');
    const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
    expect(rowsOf('docs/operations.md', 'Alerts')).toEqual(alerts);
  });

  test('each explained log line exists in the code', () => {
    const source = filesOf('src', '.ts').map(read).join('\n');
    for (const message of rowsOf('docs/operations.md', 'Log lines')) expect(source).toContain(message);
  });

  test('each file to edit exists', () => {
    const [, section = ''] = read('docs/architecture.md').split('\n## To change X, edit Y\n');
    const rows = [...section.matchAll(/^\| [^`|]+\| (`.*`) *\|$/gm)].map(([, cell = '']) => cell);
    expect(rows).toHaveLength([...section.matchAll(/^\|/gm)].length - 2);
    const files = rows.flatMap((cell) => cell.split(', ').map((name) => name.replaceAll('`', '')));
    expect(files.filter((file) => !existsSync(file))).toEqual([]);
  });

  test.each(PAGES)('each file that %s names exists', (page) => {
    const named = [...read(page).matchAll(/`((?:src|test|emulator|deploy)\/[\w./-]*)`|\]\(([\w./-]+)[)#]/g)];
    const folder = page.includes('/') ? page.slice(0, page.lastIndexOf('/') + 1) : '';
    const missing = named
      .map(([, code, link]) => code ?? `${folder}${link}`)
      .filter((path) => !existsSync(path));
    expect(missing).toEqual([]);
  });
});
