import { createRequire } from 'node:module';

/** The version in package.json, such as `0.1.0`. */
export const readVersion = (): string => {
  const manifest: unknown = createRequire(import.meta.url)('#package.json');
  const isManifest = typeof manifest === 'object' && manifest !== null && 'version' in manifest;
  return isManifest ? String(manifest.version) : 'unknown';
};
