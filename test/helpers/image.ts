import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// The files and the command of the service's image, made from the Dockerfile and the lock file
// without Docker.

export interface Image {
  /** The directory that stands for the image's /app. */
  readonly app: string;
  /** The arguments of Node in ENTRYPOINT. Options that this Node does not know are left out. */
  readonly entrypoint: readonly string[];
}

export const layOutImage = (): Image => {
  const app = mkdtempSync(join(tmpdir(), 'banks-bff-image-'));
  const [, stage = ''] = readFileSync('Dockerfile', 'utf8').split(/^FROM .* AS service$/m);
  for (const [, from, paths = ''] of stage.matchAll(/^COPY (?:--from=(\S+) )?(.+)$/gm)) {
    if (from === 'dependencies') copyProductionPackages(app);
    else copy(paths.replaceAll('/app/', ''), app);
  }
  return { app, entrypoint: readEntrypoint() };
};

/**
 * Node's options in the image of the checkout in `directory`, without those that this Node does not
 * know.
 */
export const imageOptions = (directory = '.'): string[] =>
  readEntrypoint(directory).filter((arg) => arg.startsWith('--'));

const readEntrypoint = (directory = '.'): string[] => {
  const text = readFileSync(join(directory, 'Dockerfile'), 'utf8');
  const [, command = '[]'] = /^ENTRYPOINT (\[.*\])$/m.exec(text) ?? [];
  const [node, ...args]: string[] = JSON.parse(command);
  if (node !== 'node') throw new Error('ENTRYPOINT does not start Node');
  return args.filter((arg) => !arg.startsWith('--') || isKnownOption(arg));
};

const isKnownOption = (arg: string): boolean =>
  spawnSync(process.execPath, [arg, '--version']).status === 0;

/**
 * As COPY does: `paths` are sources, with wildcards, and a destination; of a directory it copies
 * the content.
 */
const copy = (paths: string, app: string): void => {
  const [to = '', ...sources] = paths.split(' ').toReversed();
  const script =
    'mkdir -p "$0"; for source in $1; do if [ -d "$source" ]; then cp -R "$source/." "$0"; else cp "$source" "$0"; fi; done';
  execFileSync('bash', ['-ec', script, join(app, to), sources.join(' ')]);
};

/**
 * What `npm ci --omit=dev` installs where only package.json and the lock file are, without
 * workspaces.
 */
const copyProductionPackages = (app: string): void => {
  const {
    packages,
  }: { packages: Record<string, { readonly dev?: boolean; readonly link?: boolean }> } = JSON.parse(
    readFileSync('package-lock.json', 'utf8'),
  );
  const paths = Object.entries(packages)
    .filter(([path, { dev, link }]) => path.startsWith('node_modules/') && !dev && !link)
    .map(([path]) => path);
  for (const path of paths) cpSync(path, join(app, path), { recursive: true });
};
