/**
 * Options of Node with which a process gets SIGUSR1 before the program's first instruction, as if
 * somebody had sent it while Node starts.
 */
export const SIGUSR1_BEFORE_THE_PROGRAM = [
  '--import',
  "data:text/javascript,process.kill(process.pid, 'SIGUSR1')",
];
