import { beforeEach } from '@jest/globals';
import { join } from 'node:path';
import type { Emulator } from '../../emulator/emulator.ts';
import type { EnvironmentVariables } from '../../src/config/variables.ts';
import { emulate } from './emulate.ts';
import { runService, startProcess, type ServiceProcess } from './process.ts';
import type { Program } from './program.ts';
import { temporaryFolder } from './temporary-folder.ts';

// The built process as an operator sees it, with an emulator and a folder for each test.

/** Call it once in a file: it registers what runs before its tests. */
export const createProcessStage = () => {
  let emulator: Emulator;
  let folder = '';
  beforeEach(async () => {
    emulator = await emulate();
    folder = temporaryFolder();
  });
  return {
    /** Of the running test. */
    emulator: (): Emulator => emulator,
    /** The folder in which {@link run} starts the service. */
    folder: (): string => folder,
    inFolder: (name: string): string => join(folder, name),
    run: (env: EnvironmentVariables, options: Parameters<typeof runService>[1] = {}): Program =>
      runService(
        { PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl, ...env },
        { cwd: folder, ...options },
      ),
    /** The service with a list. */
    start: async (env: EnvironmentVariables, preload?: string): Promise<ServiceProcess> => {
      const service = await startProcess(
        { PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl, ...env },
        preload,
      );
      await fetch(`${service.url}/banks`);
      return service;
    },
  };
};
