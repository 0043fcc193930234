import type { Fault } from './fault.ts';

// Faults in src/banks (what is not pure), and in the deadline that its loads share with the other rooms.

const LOADING = ['test/banks/loading/loading.test.ts', 'test/banks/renewal.test.ts'];
const LIST = 'test/banks/bank-list.test.ts';

export const banks: readonly Fault[] = [
  {
    file: 'src/banks/loading/failures.ts',
    code: 'current = { ...current, failure: undefined, failing: undefined };',
    fault: 'current = { ...current, failure: undefined };',
    effect: 'after one long outage the next single failure waits a minute',
    tests: [...LOADING, 'test/failures.test.ts'],
  },
  {
    file: 'src/banks/loading/loading.ts',
    code: 'if (wait.signal.aborted) turn.end();\n        else on(',
    fault: 'if (!wait.signal.aborted) on(',
    effect:
      'a turn that comes after a refresh has ended the wait is never given back: the others wait in vain',
    tests: [...LOADING, 'test/sharing/fleet.test.ts'],
  },
  {
    file: 'src/banks/loading/loading.ts',
    code: '  stopped: {},\n',
    fault: "  stopped: { ended: 'idle' },\n",
    effect: 'a load that ends after the stop sets the next alarm',
    tests: [...LOADING, 'test/service.test.ts'],
  },
  {
    file: 'src/banks/loading/loading.ts',
    code: '        turn.end();\n        job?.end',
    fault: '        job?.end',
    effect: 'the lease is never given back, so the other replicas wait until it expires',
    tests: [...LOADING, 'test/sharing/fleet.test.ts'],
  },
  {
    file: 'src/banks/loading/loading.ts',
    code: '(options.hasList() ? 2 : 0.5)',
    fault: '2',
    effect: 'the first requests wait four times as long for another replica',
    tests: [...LOADING, 'test/sharing/fleet.test.ts'],
  },
  {
    file: 'src/banks/bank-list.ts',
    code: 'limitMs: loadTimeoutMs,',
    fault: 'limitMs: 2 * loadTimeoutMs,',
    effect:
      'the first requests wait for another replica and then for a whole load, longer than PROVIDER_TIMEOUT',
    tests: [...LOADING, 'test/sharing/fleet.test.ts'],
  },
  {
    file: 'src/banks/loading/loading.ts',
    code: 'else leave = clock.after(',
    fault: 'else clock.after(',
    effect: 'a timer is left behind when the alarm is set anew',
    tests: [...LOADING, 'test/sharing/stores.test.ts'],
  },
  {
    file: 'src/banks/loading/loading.ts',
    code: 'clock.after(Math.ceil(leftMs), setAlarm)',
    fault: "clock.after(Math.ceil(leftMs), () => on('due'))",
    effect: 'a wait longer than a Node timer ends too early, and a timer that fires early loads early',
    tests: [...LOADING, 'test/banks/loading/schedule.test.ts'],
  },
  {
    file: 'src/banks/loading/load.ts',
    code: '!failures.current().failure && ',
    fault: '',
    effect: 'after a failed load the provider is asked only whether anything changed',
    tests: [...LOADING, 'test/failures.test.ts'],
  },
  {
    file: 'src/banks/loading/load.ts',
    code: '        receivedAtMs,\n        changedAtMs',
    fault: '        countedFromMs: clock.monotonicMs(),\n        receivedAtMs,\n        changedAtMs',
    effect: 'the age counts from the end of the encoding, so the list seems younger than it is',
    tests: [LIST, ...LOADING],
  },
  {
    file: 'src/banks/loading/load.ts',
    code: '{ ...whole, confirmations: whole.confirmations + 1 }',
    fault: '{ atMs: askedAtMs, confirmations: whole.confirmations + 1 }',
    effect: 'each 304 starts the day anew after which the whole list is asked for',
    tests: [...LOADING, 'test/failures.test.ts'],
  },
  {
    file: 'src/banks/loading/load.ts',
    code: 'admission.confirm(list, { ...sent, receivedAtMs })',
    fault: 'admission.confirm(list, { ...sent, receivedAtMs: Math.min(list.receivedAtMs, receivedAtMs) })',
    effect: 'a confirmed list keeps the time of the first one: stores and /healthz show it as old',
    tests: [...LOADING, 'test/failures.test.ts'],
  },
  {
    file: 'src/banks/admission.ts',
    code: 'compressors);\n      if (!mayReplace()) return undefined;\n',
    fault: 'compressors);\n',
    effect: 'a list that was loaded while a saved one was encoded is replaced by the older one',
    tests: ['test/banks/admission.test.ts', LIST, 'test/sharing/stores.test.ts'],
  },
  {
    file: 'src/banks/restoring.ts',
    code: "if (cached.state() === 'fresh') failures.clear();",
    fault: 'failures.clear();',
    effect: 'a stale list from a store hides that loads are failing, and restarts the back-off',
    tests: [LIST, 'test/banks/renewal.test.ts', 'test/sharing/stores.test.ts'],
  },
  {
    file: 'src/banks/bank-list.ts',
    code: 'if (!isUnderWay && failure) throw failure;',
    fault: 'if (failure) throw failure;',
    effect: 'a request during the first successful retry gets the old error instead of the list',
    tests: [...LOADING, 'test/failures.test.ts'],
  },
  {
    file: 'src/banks/bank-list.ts',
    code: 'if (isTaken && !failures.current().failure)',
    fault: 'if (isTaken && failures.current().failure)',
    effect: 'a list that another replica loaded does not put off this replica’s own load',
    tests: [LIST, 'test/banks/renewal.test.ts', 'test/sharing/stores.test.ts'],
  },
  {
    file: 'src/deadline.ts',
    code: '      cancel();\n',
    fault: '',
    effect: 'the timer of each load is left behind',
    tests: ['test/deadline.test.ts', 'test/banks/renewal.test.ts', 'test/service.test.ts'],
  },
  {
    file: 'src/deadline.ts',
    code: "      signal?.removeEventListener('abort', onAbort);\n",
    fault: '',
    effect: 'each load leaves a listener behind, and Node warns of a leak after eleven',
    tests: ['test/deadline.test.ts', 'test/banks/renewal.test.ts', 'test/service.test.ts'],
  },
  {
    file: 'src/banks/loading/loading.ts',
    code: 'some.length === others.length && ',
    fault: '',
    effect: 'an operator who accepts a list joins a waiting refresh that accepts nothing',
    tests: LOADING,
  },
  {
    file: 'src/banks/loading/loading.ts',
    code: 'isForced: job !== undefined,',
    fault: 'isForced: forced.length > 0,',
    effect: 'a refresh asks the provider only whether anything changed',
    tests: LOADING,
  },
  {
    file: 'src/banks/loading/load.ts',
    code: ': previous?.acceptedAtMs,',
    fault: ': undefined,',
    effect:
      'the next renewal forgets that an operator accepted the list, and replicas that missed it never learn of it',
    tests: ['test/banks/admission.test.ts', ...LOADING, 'test/sharing/stores.test.ts'],
  },
  {
    file: 'src/banks/loading/load.ts',
    code: 'wanted.accept.length > 0)',
    fault: 'wanted.accept.length > 1)',
    effect:
      'an accepted refresh that another replica’s list overtakes is told as done, and nothing is accepted',
    tests: [LIST, ...LOADING, 'test/sharing/stores.test.ts'],
  },
  {
    file: 'src/banks/loading/failures.ts',
    code: 'failing: { sinceMs,',
    fault: 'failing: { sinceMs: Math.max(sinceMs, atMs),',
    effect: 'loads seem to have been failing only since the last attempt',
    tests: ['test/banks/loading/failures.test.ts'],
  },
  {
    file: 'src/banks/guard/replacement.ts',
    code: 'Math.max(0, reportedMs ?? byClocksMs, byClocksMs - CLOCK_TOLERANCE_MS)',
    fault: 'Math.max(0, reportedMs ?? byClocksMs)',
    effect: 'a store that reports too small an age is believed against the clocks',
    tests: ['test/banks/guard/replacement.test.ts'],
  },
  {
    file: 'src/banks/guard/replacement.ts',
    code: "if (accepted !== acceptedBefore) return accepted > acceptedBefore ? 'accepted' : 'no';",
    fault: "if (accepted > acceptedBefore) return 'accepted';",
    effect: 'a younger list from a replica that missed it replaces what an operator accepted',
    tests: ['test/banks/guard/replacement.test.ts'],
  },
  {
    file: 'src/banks/bank-list.ts',
    code: "onRest: () => news.emit('news'),",
    fault: 'onRest: () => undefined,',
    effect: 'the first requests learn of a failed load only when their time is over',
    tests: [LIST, ...LOADING],
  },
  {
    file: 'src/banks/admission.ts',
    code: '(list === cached.get() ? set({ ...list, ...received }) : undefined)',
    fault: 'set({ ...list, ...received })',
    effect: 'a 304 brings back the list that was cached when the provider was asked',
    tests: ['test/banks/admission.test.ts', LIST],
  },
];
