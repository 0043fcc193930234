import { afterEach, describe, expect, test } from '@jest/globals';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { at, list, read, text } from '../kit/manifests.ts';

// What a release is made with: the workflows, the SBOM and the audit.

describe('the workflows', () => {
  const workflows = readdirSync('.github/workflows').map(
    (name) => [name, parse(read(`.github/workflows/${name}`))] as [string, unknown],
  );
  const jobsOf = (workflow: unknown): unknown[] => Object.values(Object(at(workflow, 'jobs')));
  const stepsOf = (workflow: unknown): unknown[] => jobsOf(workflow).flatMap((job) => list(at(job, 'steps')));

  test.each(workflows)(
    '%s runs actions by their commit, which a moved tag cannot change',
    (name, workflow) => {
      const used = stepsOf(workflow).map((step) => at(step, 'uses'));
      expect(used.filter((action) => action && !/@[\da-f]{40}$/.test(text(action)))).toEqual([]);
      // Dependabot keeps the comment, and people read it.
      const commented = read(`.github/workflows/${name}`).match(/@[\da-f]{40} # v\d+\.\d+\.\d+$/gm) ?? [];
      expect(commented).toHaveLength(used.filter(Boolean).length);
    },
  );

  test.each(workflows)('%s may do nothing to the repository but what a job asks for', (_name, workflow) => {
    expect([{}, { contents: 'read' }]).toContainEqual(at(workflow, 'permissions'));
    for (const job of jobsOf(workflow)) expect(at(job, 'timeout-minutes')).toEqual(expect.any(Number));
  });

  test.each(workflows)('%s runs all of CI before anything else', (_name, workflow) => {
    expect(stepsOf(workflow).map((step) => at(step, 'run'))).toContain('bash .ci/run');
  });

  test('a release is built for two architectures, with its provenance and contents', () => {
    const release = workflows.find(([name]) => name === 'release.yml')?.[1];
    const build = stepsOf(release).find((step) => at(step, 'id') === 'build');
    expect(at(build, 'with')).toMatchObject({
      target: 'service',
      platforms: 'linux/amd64,linux/arm64',
      provenance: 'mode=max',
      sbom: true,
    });
    expect(at(release, 'jobs', 'release', 'needs')).toBe('check');
    // The archive comes from the same commit, with its provenance: archive.test.ts runs it.
    const steps = stepsOf(release);
    expect(steps.map((step) => text(at(step, 'run'))).join()).toContain('bash scripts/archive.sh');
    expect(steps.map((step) => at(step, 'with', 'subject-path'))).toContain('${{ env.ARCHIVE }}');
    // Nothing that runs in these stages depends on the architecture: no emulation is needed.
    const stages = read('Dockerfile').split(/^(?=FROM )/m);
    const running = stages.filter((stage) => /^RUN /m.test(stage));
    expect(running).toHaveLength(2);
    for (const stage of running) expect(stage).toMatch(/^FROM --platform=\$BUILDPLATFORM /);
  });
});

test('images get their digests beside their tags, and a release is refused without them', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'banks-images-'));
  const files = ['Dockerfile', 'compose.replicas.yml', '.github', 'scripts'];
  for (const file of files) await cp(file, join(folder, file), { recursive: true });
  // Docker's place is taken: it asks the registry.
  const digest = `sha256:${'0123456789abcdef'.repeat(4)}`;
  await writeFile(join(folder, 'docker'), `#!/bin/sh\necho ${digest}\n`, { mode: 0o755 });
  const run = (...args: string[]): Promise<{ stdout: string }> =>
    promisify(execFile)('bash', [join(folder, 'scripts/pin-images.sh'), ...args], {
      env: { PATH: `${folder}:/usr/bin:/bin` },
    });
  await expect(run('--check')).rejects.toMatchObject({
    stdout: expect.stringContaining('node:26-slim has no'),
  });
  await run();
  expect(await run('--check')).toMatchObject({ stdout: '' });
  const pinned = (
    await Promise.all(
      ['Dockerfile', 'compose.replicas.yml', '.github/workflows/ci.yml', '.github/workflows/release.yml'].map(
        (file) => readFile(join(folder, file), 'utf8'),
      ),
    )
  ).join('');
  const used = pinned.match(/^(?:FROM |\s+image: ).*$/gm) ?? [];
  expect(used.filter((line) => !line.includes(`@${digest}`))).toEqual([]);
  expect(used).toHaveLength(8);
  await rm(folder, { recursive: true });
});

test('the SBOM lists what a production install has, and nothing else', async () => {
  const outputOf = async (program: string, ...args: string[]): Promise<unknown> => {
    const { stdout } = await promisify(execFile)(program, args, { maxBuffer: 16 * 1024 * 1024 });
    return JSON.parse(stdout);
  };
  const sbom = await outputOf(process.execPath, '.ci/sbom.js');
  const installed = new Set<string>();
  const collect = (node: unknown): void => {
    for (const [name, child] of Object.entries(Object(at(node, 'dependencies')))) {
      // An optional peer that is not installed has none.
      if (at(child, 'version')) installed.add(`${name}@${text(at(child, 'version'))}`);
      collect(child);
    }
  };
  collect(await outputOf('npm', 'ls', '--all', '--omit=dev', '--json', '--package-lock-only'));
  const refs = list(at(sbom, 'components')).map((component) => text(at(component, 'bom-ref')));
  expect(refs.toSorted()).toEqual([...installed].toSorted());
  expect(refs).toEqual(expect.arrayContaining([expect.stringMatching(/^express@/)]));
  expect(at(sbom, 'metadata', 'component', 'name')).toBe('banks-bff');
  const known = [...refs, at(sbom, 'metadata', 'component', 'bom-ref')];
  const targets = list(at(sbom, 'dependencies')).flatMap((dependency) => [
    at(dependency, 'ref'),
    ...list(at(dependency, 'dependsOn')),
  ]);
  expect(targets.filter((ref) => !known.includes(ref))).toEqual([]);
});

describe('the audit', () => {
  let registry: Server;
  let folder: string;
  afterEach(async () => {
    registry.close();
    registry.closeAllConnections();
    await rm(folder, { recursive: true });
  });

  /** The exit status and the output with a registry that answers the request for advisories so; undefined: 405. */
  const audit = async (advisories?: object): Promise<{ status: number | null; written: string }> => {
    folder = await mkdtemp(join(tmpdir(), 'banks-audit-'));
    registry = createServer((req, res) => {
      req.resume().on('end', () => {
        const isBulk = req.method === 'POST' && req.url === '/-/npm/v1/security/advisories/bulk';
        if (isBulk && advisories) res.end(JSON.stringify(advisories));
        else res.writeHead(405).end();
      });
    }).listen(0, '127.0.0.1');
    await once(registry, 'listening');
    const address = registry.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const child = spawn(process.execPath, ['.ci/audit.js'], {
      // oxlint-disable-next-line node/no-process-env -- npm's own, but for the registry and its cache
      env: { ...process.env, npm_config_registry: `http://127.0.0.1:${port}`, npm_config_cache: folder },
    });
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    await once(child, 'close');
    return { status: child.exitCode, written: Buffer.concat(chunks).toString() };
  };
  const advisory = (severity: string): object => ({
    undici: [
      {
        id: 1,
        url: 'https://example.com/1',
        title: 'A made-up hole',
        severity,
        vulnerable_versions: '<99',
        cwe: [],
        cvss: { score: 0, vectorString: null },
      },
    ],
  });

  test('fails on a high one, and names the package', async () => {
    const { status, written } = await audit(advisory('high'));
    expect(written).toContain('high: undici');
    expect(status).toBe(1);
  });

  test('reports a moderate one and passes', async () => {
    const { status, written } = await audit(advisory('moderate'));
    expect(written).toContain('moderate: undici');
    expect(status).toBe(0);
  });

  test('says that nothing was checked where the registry has no such service', async () => {
    const { status, written } = await audit();
    expect(written).toMatch(/^not checked, the registry gave no answer: 405/);
    expect(status).toBe(0);
  });
});
