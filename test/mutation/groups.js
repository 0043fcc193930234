// The pure modules, with the tests that judge them. Every mutant runs the tests of its group, so those that start the whole
// service are there only where nothing smaller shows the behaviour.

/** Paths below src/, where a pattern may have `*` and `{a,b}`, and of tests below test/. */
export const GROUPS = {
  freshness: { files: ['banks/{freshness,cached-list}.ts'], tests: ['banks/cached-list'] },
  'list-change': { files: ['banks/list-change.ts'], tests: ['banks/list-change'] },
  admission: { files: ['banks/{admission,load-error}.ts'], tests: ['banks/admission'] },
  guard: {
    files: ['banks/guard/*.ts', 'banks/{field-names,share}.ts'],
    tests: [
      'banks/guard/drift',
      'banks/guard/guard',
      'banks/guard/memory',
      'banks/guard/replacement',
    ],
  },
  schedule: {
    files: ['banks/loading/{schedule,loading}.ts'],
    tests: ['banks/loading/load', 'banks/loading/loading', 'banks/loading/schedule'],
  },
  reading: {
    files: ['banks/reading/*.ts'],
    tests: ['banks/reading/list-reader', 'banks/reading/profile'],
  },
  contract: {
    files: ['provider/contract.ts', 'http-date.ts'],
    tests: ['provider/contract', 'http-date'],
  },
  http: {
    files: ['http/banks/{preconditions,answers}.ts'],
    tests: [
      'http/banks/conditions-and-encodings',
      'http/banks/cache-headers',
      'http/banks/life-of-a-list',
    ],
  },
  envelope: { files: ['sharing/envelope.ts'], tests: ['sharing/envelope'] },
  values: { files: ['config/values.ts'], tests: ['config/config', 'config/values'] },
  config: {
    files: ['config/{config,reader,provider,variables}.ts', 'secrets/secret.ts'],
    tests: ['config/config', 'config/values', 'commands/check-config'],
  },
  redaction: { files: ['secrets/{redaction,encoded-forms}.ts'], tests: ['secrets/redaction'] },
};
