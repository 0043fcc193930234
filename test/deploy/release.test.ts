import { expect, test } from '@jest/globals';
import { execFile, execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { closeLater } from '../helpers/close-later.ts';
import { listenOn } from '../helpers/free-port.ts';
import { runNode } from '../helpers/program.ts';
import { read } from '../helpers/repository.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

// What a release is made with: the workflows, the SBOM and the audit.

interface Job {
  readonly 'timeout-minutes': number;
  readonly steps: readonly Record<string, string>[];
}

test.each(readdirSync('.github/workflows'))(
  'the workflow %s runs all of CI, and may do nothing to the repository unless a job asks for it',
  (name) => {
    const text = read(`.github/workflows/${name}`);
    const { permissions, jobs } = parse(text);
    expect([{}, { contents: 'read' }]).toContainEqual(permissions);
    const all = Object.values<Job>(jobs);
    for (const job of all) expect(job['timeout-minutes']).toEqual(expect.any(Number));
    const steps = all.flatMap((job) => job.steps);
    expect(steps.map(({ run }) => run)).toContain('bash .ci/run');
    // By their commit, which a moved tag cannot change. Dependabot keeps the comment, and people
    // read it.
    const pinned = text.match(/uses: \S+@[\da-f]{40} # v\d+\.\d+\.\d+$/gm) ?? [];
    expect(pinned).toHaveLength(steps.filter(({ uses }) => uses).length);
  },
);

test('a release is built of what CI has passed, without the right to publish, and published as it was built', () => {
  const { build, release } = parse(read('.github/workflows/release.yml')).jobs;
  expect([build.needs, release.needs]).toEqual(['check', 'build']);
  expect(build.permissions).toEqual({ contents: 'read' });
  const textOf = (job: Job): string => JSON.stringify(job.steps);
  // No checkout and no npm, whose packages could use what this job may do.
  expect(textOf(release)).not.toMatch(/checkout|npm|node |setup-buildx/);
  expect(textOf(build)).toContain('npm pack --silent --workspace packages/bank-picker');
  const { version } = JSON.parse(read('package.json'));
  expect(JSON.parse(read('packages/bank-picker/package.json')).version).toBe(version);
});

test('Dependabot waits before it proposes a release, and knows every lock file', () => {
  const { updates } = parse(read('.github/dependabot.yml'));
  for (const { cooldown } of updates) expect(cooldown).toEqual({ 'default-days': 7 });
  const folders = updates
    .filter((update: Record<string, unknown>) => update['package-ecosystem'] === 'npm')
    .flatMap(({ directory, directories }: Record<string, string>) => directory ?? directories);
  const locks = execFileSync('git', ['ls-files', '*package-lock.json'], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((path) => `/${path.replace(/\/?package-lock\.json$/, '')}`);
  expect(folders.toSorted()).toEqual(locks.toSorted());
});

test('images get their digests beside their tags, and a release is refused without them', async () => {
  const folder = temporaryFolder('banks-images-');
  const files = ['Dockerfile', 'compose.replicas.yml', '.github', 'tools/pin-images.sh'];
  for (const file of files) await cp(file, join(folder, file), { recursive: true });
  // Docker's place is taken: it asks the registry.
  const digest = `sha256:${'0123456789abcdef'.repeat(4)}`;
  await writeFile(join(folder, 'docker'), `#!/bin/sh\necho ${digest}\n`, { mode: 0o755 });
  const run = (...args: string[]): Promise<{ stdout: string }> =>
    promisify(execFile)('bash', [join(folder, 'tools/pin-images.sh'), ...args], {
      env: { PATH: `${folder}:/usr/bin:/bin` },
    });
  await expect(run('--check')).rejects.toMatchObject({
    stdout: expect.stringContaining('node:26-slim has no'),
  });
  await run();
  expect(await run('--check')).toMatchObject({ stdout: '' });
  const named = [...files.slice(0, 2), '.github/workflows/ci.yml', '.github/workflows/release.yml'];
  const pinned = await Promise.all(named.map((file) => readFile(join(folder, file), 'utf8')));
  const used = pinned.join('').match(/^(?:FROM |\s+image: ).*$/gm) ?? [];
  expect(used.filter((line) => !line.includes(`@${digest}`))).toEqual([]);
  expect(used).toHaveLength(8);
});

test('the SBOM lists what a production install has, and nothing else', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['.ci/sbom.js'], {
    maxBuffer: 16 * 1024 * 1024,
  });
  const { components } = JSON.parse(stdout);
  const { packages } = JSON.parse(read('package-lock.json'));
  const installed = Object.entries<{ dev?: boolean; link?: boolean; version: string }>(packages)
    .filter(([path, { dev, link }]) => path.startsWith('node_modules/') && !dev && !link)
    .map(([path, { version }]) => `${path.replace(/^.*node_modules\//, '')}@${version}`);
  const refs: string[] = components.map(
    (component: Record<string, string>) => component['bom-ref'],
  );
  expect(refs.toSorted()).toEqual([...new Set(installed)].toSorted());
  expect(refs).toEqual(expect.arrayContaining([expect.stringMatching(/^express@/)]));
});

const HOLE = {
  id: 1,
  url: 'https://a.example',
  title: 'A hole',
  severity: 'high',
  vulnerable_versions: '<99',
};

test.each([
  ['fails on a high advisory, and names the package', { undici: [HOLE] }, 1, 'high: undici'],
  [
    'says that nothing was checked where the registry has no such service',
    undefined,
    0,
    'not checked, the',
  ],
])('the audit %s', async (_what, advisories, status, said) => {
  const registry = createServer((req, res) => {
    req.resume().on('end', () => {
      const isBulk = req.method === 'POST' && req.url === '/-/npm/v1/security/advisories/bulk';
      if (isBulk && advisories) res.end(JSON.stringify(advisories));
      else res.writeHead(405).end();
    });
  });
  const port = await listenOn(registry);
  closeLater(() => registry.close());
  const { exit, output } = runNode('.ci/audit.js', {
    env: {
      // oxlint-disable-next-line node/no-process-env -- npm's own, but for the registry and its cache
      ...process.env,
      npm_config_registry: `http://127.0.0.1:${port}`,
      npm_config_cache: temporaryFolder('banks-audit-'),
    },
  });
  expect(await exit).toBe(status);
  expect(output()).toContain(said);
});
