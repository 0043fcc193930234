import { expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { read } from '../helpers/repository.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

// The workflows, and what a release is made with.

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly env?: object;
}
const stepsOf = (workflow: string): Step[] =>
  Object.values<{ readonly steps: Step[] }>(
    parse(read(`.github/workflows/${workflow}`)).jobs,
  ).flatMap(({ steps }) => steps);

test.each(readdirSync('.github/workflows'))(
  'the workflow %s uses actions that nobody can change, and may do nothing to the repository unless a job asks for it',
  (name) => {
    const text = read(`.github/workflows/${name}`);
    expect([{}, { contents: 'read' }]).toContainEqual(parse(text).permissions);
    // By their commit, which a moved tag cannot change. Dependabot keeps the comment, and people
    // read it.
    const pinned = text.match(/uses: \S+@[\da-f]{40} # v\d+\.\d+\.\d+$/gm) ?? [];
    expect(pinned).toHaveLength(stepsOf(name).filter(({ uses }) => uses).length);
  },
);

test.each(['ci.yml', 'release.yml'])('the workflow %s runs all of CI', (name) => {
  expect(stepsOf(name).map(({ run }) => run)).toContain('bash .ci/run');
});

test('each night the model test and the soak draw from another seed', () => {
  const seed = '${{ github.run_number }}';
  const steps = stepsOf('explore.yml');
  const model = steps.find(({ run }) => run === 'npm test -- test/fleet/model');
  expect(model?.env).toEqual({ FLEET_SEED: seed, FLEET_RUNS: expect.any(Number) });
  expect(steps.map(({ run }) => run)).toContain(`npm run soak -- --minutes 60 --seed ${seed}`);
});

test('a release is built of what CI has passed, without the right to publish, and published as it was built', () => {
  const { build, release } = parse(read('.github/workflows/release.yml')).jobs;
  expect([build.needs, release.needs]).toEqual(['check', 'build']);
  expect(build.permissions).toEqual({ contents: 'read' });
  // No checkout and no npm, whose packages could use what this job may do.
  expect(JSON.stringify(release.steps)).not.toMatch(/checkout|npm|node |setup-buildx/);
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
