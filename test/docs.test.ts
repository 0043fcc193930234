import { afterEach, describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { PROBLEM_OF_LOAD_ERROR } from '../src/http/problems.ts';
import { eventually, startRig, type Rig } from './kit/rig.ts';

// The documentation does what it says: each command in it is run here, or is known to be run elsewhere or not at all; and
// what it repeats of the code is compared with the code.

const read = (path: string): string => readFileSync(path, 'utf8');
const filesOf = (folder: string, end: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(end))
    .map((name) => `${folder}/${name}`);

const PAGES = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...filesOf('docs', '.md')];

/** Commands that are not run here, each with where they are, or why they cannot be. */
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
  ['npm run build && npm run doctor', 'doctor.test.ts runs the built program'],
  ['npm run emulator', 'emulator.test.ts starts it'],
  ['cp .env.example .env', 'config.test.ts holds the file to be a good configuration for the emulator'],
  ['node dist/src/main.js doctor', 'doctor.test.ts runs the built program'],
  ['node dist/src/main.js check-config', 'check-config.test.ts runs the built program'],
  ['docker compose run --rm banks-bff doctor', 'CI has no Docker'],
  ['docker compose run --rm banks-bff check-config', 'CI has no Docker'],
  ['kubectl exec deployment/banks-bff -- node dist/src/main.js doctor', 'CI has no cluster'],
  ['npm run bench', 'it takes a quiet machine a quarter of an hour; its parts are what the tests use'],
  ['apt-get install nginx varnish wrk', 'CI installs what the tests need'],
  ['docker compose up', 'CI has no Docker'],
  ['docker compose -f docker-compose.yml -f compose.replicas.yml up --build', 'CI has no Docker'],
  [
    'npx openapi-typescript http://localhost:3000/openapi.json -o banks.d.ts',
    "openapi.test.ts holds the document to its schema; the generator is the reader's choice",
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
]);

interface Exchange {
  readonly command: string;
  readonly output: string;
  /** What stands right before the command's block. */
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

test.each(PAGES)('each command of %s is run here, or is known to be run elsewhere', (page) => {
  const unknown = exchangesOf(page).filter((exchange) => !isRunHere(exchange) && !isRunElsewhere(exchange));
  expect(unknown.map(({ command }) => command)).toEqual([]);
});

describe('the commands that ask a running service', () => {
  let rig: Rig;
  afterEach(() => rig.close());

  /** What differs from run to run. */
  const mask = (text: string): string =>
    text
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
      .replaceAll(/"ageSeconds":\d+/g, '"ageSeconds":<age>')
      .replaceAll(/"version":"[^"]+"/g, '"version":"<version>"')
      .trimEnd();

  const run = async (command: string): Promise<string> => {
    const here = command
      .replaceAll('localhost:3000', rig.url)
      .replaceAll('localhost:3001', rig.operatorsUrl)
      .replaceAll('localhost:4001', rig.emulator.controlUrl);
    // Without `pipefail`, as a person's shell: `head` ends when it has enough, whatever curl still has to write.
    const { stdout } = await promisify(execFile)('bash', ['-c', here]);
    return stdout;
  };

  test.each(PAGES.filter((page) => exchangesOf(page).some(isRunHere)))(
    'of %s give what the page shows',
    async (page) => {
      rig = await startRig({ env: { CACHE_TTL: '10s', MANAGEMENT_TOKEN: 'an-outage-rehearsal' } });
      const isIdle = (): boolean => rig.service.list.status().nextLoadInMs > 0;
      await eventually(isIdle);
      const shown: string[] = [];
      const seen: string[] = [];
      for (const { command, output, lead } of exchangesOf(page).filter(isRunHere)) {
        if (lead.startsWith('Eleven seconds later')) {
          // In steps, so that each load on the way ends before its deadline.
          for (let second = 0; second < 11; second += 1) {
            rig.clock.advance(1_000);
            await eventually(isIdle);
          }
        }
        shown.push(command, mask(output));
        seen.push(command, mask(await run(command)));
      }
      expect(seen).toEqual(shown);
    },
  );
});

describe('what the pages repeat of the code', () => {
  const rowsOf = (page: string, heading: string): string[] => {
    const [, section = ''] = read(page).split(`\n## ${heading}\n`);
    return [...(section.split('\n## ')[0] ?? '').matchAll(/^\| (`[^|]*`) +\|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
    );
  };

  test('the kinds of failure are those of the code', () => {
    expect(rowsOf('docs/operations.md', 'Kinds of failure').toSorted()).toEqual(
      Object.keys(PROBLEM_OF_LOAD_ERROR).toSorted(),
    );
  });

  test('the alerts are those of the rules', () => {
    const rules = read('deploy/prometheus/banks-bff.rules.yml');
    const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
    expect(rowsOf('docs/operations.md', 'Alerts')).toEqual(alerts);
  });

  test('each log line that is explained is written somewhere', () => {
    const source = filesOf('src', '.ts').map(read).join('\n');
    for (const message of rowsOf('docs/operations.md', 'Log lines')) expect(source).toContain(message);
  });

  test.each(PAGES)('each file that %s names is there', (page) => {
    const named = [...read(page).matchAll(/`((?:src|test|emulator|deploy)\/[\w./-]*)`|\]\(([\w./-]+)[)#]/g)];
    const folder = page.includes('/') ? page.slice(0, page.lastIndexOf('/') + 1) : '';
    const missing = named
      .map(([, code, link]) => code ?? `${folder}${link}`)
      .filter((path) => !existsSync(path));
    expect(missing).toEqual([]);
  });
});
