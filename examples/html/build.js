import { cpSync, rmSync } from 'node:fs';

// A site without a build has the element as a folder beside its pages.

rmSync('dist', { recursive: true, force: true });
cpSync('index.html', 'dist/index.html');
cpSync('../../packages/bank-picker', 'dist/bank-picker', { recursive: true });
