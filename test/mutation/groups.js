// The pure modules, with the tests that judge them. Every mutant runs the tests of its group, so those that start the whole
// service are there only where nothing smaller shows the behaviour.

/** @type {Record<string, { files: string[], tests: string[] }>} */
export const GROUPS = {
  freshness: {
    files: ['src/banks/freshness.ts', 'src/banks/cached-list.ts'],
    tests: ['test/banks/cached-list.test.ts'],
  },
  'list-change': {
    files: ['src/banks/list-change.ts'],
    tests: ['test/banks/list-change.test.ts'],
  },
  admission: {
    files: ['src/banks/{admission,load-error}.ts'],
    tests: ['test/banks/admission.test.ts'],
  },
  guard: {
    files: ['src/banks/guard/*.ts'],
    tests: ['test/banks/guard/*.test.ts'],
  },
  schedule: {
    files: ['src/banks/loading/{schedule,loading}.ts'],
    tests: ['test/banks/loading/*.test.ts'],
  },
  reading: {
    files: ['src/banks/reading/*.ts'],
    tests: ['test/banks/reading/{list-reader,profile}.test.ts'],
  },
  contract: {
    files: ['src/provider/contract.ts', 'src/http-date.ts'],
    tests: ['test/provider/contract.test.ts', 'test/http-date.test.ts'],
  },
  http: {
    files: ['src/http/banks/{preconditions,answers}.ts'],
    tests: ['test/http/banks/{conditions-and-encodings,cache-headers}.test.ts'],
  },
  envelope: {
    files: ['src/sharing/envelope.ts'],
    tests: ['test/sharing/envelope.test.ts'],
  },
  values: {
    files: ['src/config/values.ts'],
    tests: ['test/config/values.test.ts'],
  },
  config: {
    files: ['src/config/{config,reader,provider,variables}.ts', 'src/secrets/secret.ts'],
    tests: ['test/config/{config,values}.test.ts', 'test/commands/check-config.test.ts'],
  },
  redaction: {
    files: ['src/secrets/{redaction,secret-scanner}.ts'],
    tests: ['test/secrets/redaction.test.ts'],
  },
};
