import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

// Prints the SBOM (CycloneDX) of what the image has from npm. `npm sbom --omit=dev` alone would not do: it also omits
// production packages that a development dependency needs too. So npm describes everything, and the lock file says
// what is kept.

const sbom = JSON.parse(
  execFileSync(
    'npm',
    ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only'],
    {
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    },
  ),
);
const { name, packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));

// Workspaces, such as the bank picker, are not part of the service.
const production = Object.entries(packages).filter(
  ([path, { dev, link }]) => path.startsWith('node_modules/') && !dev && !link,
);
const refs = new Set(
  production.map(([path, { version }]) => `${path.split('node_modules/').at(-1)}@${version}`),
);
const components = sbom.components
  .filter((component) => refs.has(component['bom-ref']))
  // npm describes a package at two places once, and perhaps the one that is for development.
  .map((component) => ({ ...component, scope: 'required', properties: [] }));
const missing = refs.size - components.length;
if (missing !== 0)
  throw new Error(`npm sbom does not describe ${missing} packages of the lock file`);

refs.add(sbom.metadata.component['bom-ref']);
const dependencies = sbom.dependencies
  .filter(({ ref }) => refs.has(ref))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => refs.has(other)) }));
// npm takes it from the directory.
sbom.metadata.component.name = name;

process.stdout.write(`${JSON.stringify({ ...sbom, components, dependencies }, undefined, 2)}\n`);
