// What is judged: each line names what the README, docs/ or a comment of the code promises.

export const PROMISES = {
  'one load at a time': 'One load at a time, however many ask (architecture, invariant 1)',
  'only what the provider sent': 'Nothing is served that the provider never sent (architecture, invariant 2)',
  'the guard and the operator':
    'A list that the guard refuses beside the cached one or those of the week replaces nothing unless an operator accepts it (GUARD_MAX_SHRINK, GUARD_MAX_DRIFT)',
  'the list of before comes back':
    'A list that was held before is never refused: the right one comes back by itself after one bad answer (GUARD_MAX_SHRINK)',
  'nothing too old is served':
    'A list older than CACHE_TTL + CACHE_MAX_STALE is never served, a younger one is (CACHE_MAX_STALE)',
  'ages are true':
    'Ages are true: exact for an own load, never younger than the truth by more than 1 s (CACHE_TTL)',
  'never back to an older list':
    'What is served never goes back to an older list unless an operator accepted it',
  'no answer to an earlier question':
    'An answer to an earlier question never replaces what another replica loaded after it was asked',
  'an accepted list stays': 'An accepted list is not undone by an answer to an earlier question',
  'Last-Modified never goes back': 'Last-Modified never goes back while the content goes on',
  'what is told is what is served': 'Each change of the list is told once, where it happens',
  'failures are shown': 'A failure is shown exactly while loads are failing, with the number of failed loads',
  'failures are those of the provider':
    'A right answer is taken, and a failure has the kind of what the provider did (README, failures)',
  'no defect': 'No load, refresh or first request ends with a defect of the service (kind internal)',
  'a refresh is answered':
    'A refresh is answered within the load under way, its own and those before it, and store time-outs',
  'a refresh asks anew': 'A refresh that succeeds has asked for the list after it was called',
  'a first request is answered':
    'A first request is answered within PROVIDER_TIMEOUT (and the time that encoding takes)',
  'a refresh tells the truth':
    'A refresh that fails tells the failure of its own load, and what it accepts is taken',
  'a first request tells the truth':
    'A first request fails as the loads do, or in time; not while the provider answers (README, failures)',
  'one call per TTL': 'One call per CACHE_TTL: for the fleet while Redis works, for a replica otherwise',
  'retries back off':
    'Retries back off: after about 1 s, at most the smaller of CACHE_TTL and 1 min, and Retry-After is obeyed',
  'loads go on':
    'While the list is not fresh, loads go on: at most the smaller of CACHE_TTL and 1 min apart, plus turns and Retry-After',
  'fresh once the provider is healthy':
    'The list is fresh within the longest back-off, a turn and a load once the provider is healthy',
  'one retry with a new token': 'A 401 renews the token once, and is retried once, with a newer token',
  'one token request at a time': 'Tokens are renewed by one request at a time',
  'tokens in their lifetime':
    'A token is renewed ahead of its expiry, never used beyond it; one without a lifetime is used until a 401',
  'a lease only while loading': 'The lease is held only while its owner loads and writes, and is given back',
  'no load after a stop': 'After a stop no load begins, not even for a refresh that waited',
  'quiet after a stop': 'After a stop nothing is called, timed, written or told',
  'a stop ends': 'A stop ends within the time-outs of the stores',
  'what one loads the others have':
    'What a replica loads, or an operator accepts, reaches Redis and the other replicas within 3 s',
  'what is served is saved': 'What is served is in the snapshot within 3 s while the disk works',
  'the stores are what is told': 'A store is said to fail exactly while it does, each episode once',
  'nobody spins': 'Calls to provider, token endpoint and store stay bounded in every second',
  'nothing is left behind': 'Listeners, timers and connections return to what they were',
  'rejections are handled': 'A rejected promise is always handled',
  'a fleet agrees':
    'Once everything is healthy, all replicas, Redis and the snapshots hold the same fresh list',
} as const;

export type Promised = keyof typeof PROMISES;
