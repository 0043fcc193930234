import { createRequire } from 'node:module';

/** The version in package.json, such as `0.1.0`. */
export const readVersion = (): string => {
  const { version }: { readonly version: string } = createRequire(import.meta.url)('#package.json');
  return version;
};
