import type { History } from '../history.ts';
import { moment } from '../plan.ts';
import {
  aFleetBacksOffAsOneClient,
  aFleetMakesOneCallPerTtl,
  aStartTakesTheSharedList,
  aStopLeavesTheLoadToTheOthers,
  aRefusalEndsWithTheList,
  attemptsGoOn,
  nobodyCallsWhileTheListIsFresh,
  nobodyWaitsForAllOfALoad,
  oneCallAtATime,
  retriesBackOff,
  retryAfterIsObeyed,
} from './calls.ts';
import {
  allServeTheSame,
  aRefreshIsAnswered,
  noListIsWrittenOverOneThatItsWriterDidNotKnow,
  okMeansThatItIsShared,
} from './fleet.ts';
import {
  aKnownFailureIsAnsweredAtOnce,
  aListIsThereWhenTheProviderIs,
  failuresAreThoseOfTheProvider,
  nobodyWaitsTooLong,
  whoComesDuringALoadWaitsForIt,
  whatIsServedIsFresh,
} from './freshness.ts';
import {
  agesAreTrue,
  aFirstListHasAllFields,
  aCorrectedClockTakesNoListAway,
  aRestartServesWhatWasSaved,
  aSnapshotFromTheFutureIsRenewed,
  isServedUntilItIsTooOld,
  neverBackToWhatWasBefore,
  nothingTooOldIsServed,
  theGuardHolds,
  theSnapshotHasTheList,
} from './served.ts';
import {
  aFailingStoreIsReported,
  aFailureIsReported,
  allTellTheSame,
  anAcceptanceIsLogged,
  anAnswerIsDescribed,
  aRefusalHasAReason,
  aTakenListIsReported,
  changesAreLogged,
  failuresAreToldUntilASuccess,
  lastModifiedGoesOn,
  storesWork,
  theContentIsDescribed,
  theLastSuccessIsTold,
  theNextLoadIsTold,
  theStateIsThatOfTheAge,
} from './operators.ts';
import { createTimeline, type Check } from './timeline.ts';

/** Every promise that is checked. */
const CHECKS: Readonly<Record<string, Check>> = {
  'A list is served until it is older than CACHE_TTL + CACHE_MAX_STALE': isServedUntilItIsTooOld,
  'A list older than CACHE_TTL + CACHE_MAX_STALE is never served': nothingTooOldIsServed,
  'The age that users read is true, whatever clocks do': agesAreTrue,
  'The last decision, then the last question, decides which list is served':
    neverBackToWhatWasBefore,
  'A list that shrank or drifted replaces nothing unless an operator accepts it': theGuardHolds,
  'A first list in which no entry has a field is refused': aFirstListHasAllFields,
  'A snapshot from the future is renewed at once': aSnapshotFromTheFutureIsRenewed,
  'The snapshot file has the list that is served': theSnapshotHasTheList,
  'After a restart what was saved is served': aRestartServesWhatWasSaved,
  'A wall clock that is corrected takes no list away': aCorrectedClockTakesNoListAway,
  'While the provider is healthy, nothing older than CACHE_TTL plus one fetch is served':
    whatIsServedIsFresh,
  'While the provider is healthy, there is a list': aListIsThereWhenTheProviderIs,
  'A request waits at most PROVIDER_TIMEOUT': nobodyWaitsTooLong,
  'Who comes without a list during a load waits for it': whoComesDuringALoadWaitsForIt,
  'Requests without a list get the failure of the fleet at once': aKnownFailureIsAnsweredAtOnce,
  'A failure is one of the provider': failuresAreThoseOfTheProvider,
  'One call at a time': oneCallAtATime,
  'Without a list nobody waits for all of a load of another replica': nobodyWaitsForAllOfALoad,
  'Nobody calls while the list is fresh': nobodyCallsWhileTheListIsFresh,
  'A replica that starts takes the shared list': aStartTakesTheSharedList,
  'A replica that stops leaves its load to the others at once': aStopLeavesTheLoadToTheOthers,
  'A fleet makes one call per CACHE_TTL': aFleetMakesOneCallPerTtl,
  'Retry-After is obeyed by all': retryAfterIsObeyed,
  'A fleet backs off as one client does': aFleetBacksOffAsOneClient,
  'Retries back off from a second to a minute': retriesBackOff,
  'While loads fail, attempts go on': attemptsGoOn,
  'A list that was refused is asked for again once the cached one is over': aRefusalEndsWithTheList,
  'All replicas agree within seconds, or a minute after a lost message': allServeTheSame,
  'ok means that the list of this question, or a later one, is that of the fleet':
    okMeansThatItIsShared,
  'A list is written only over the one that its writer knew':
    noListIsWrittenOverOneThatItsWriterDidNotKnow,
  'A refresh is answered': aRefreshIsAnswered,
  'The state of the list is that of its age': theStateIsThatOfTheAge,
  'The time of the last success is right': theLastSuccessIsTold,
  'The list is described as it is': theContentIsDescribed,
  'What is unusable in an answer, or missing, is told': anAnswerIsDescribed,
  'Failures are counted until a load succeeds': failuresAreToldUntilASuccess,
  'Each failed load is reported': aFailureIsReported,
  'Each list that is taken is reported': aTakenListIsReported,
  'Replicas with one list tell the same of it': allTellTheSame,
  'The next load is made when the status page says': theNextLoadIsTold,
  'A list is refused for a reason': aRefusalHasAReason,
  'An acceptance is logged by every replica that takes the list': anAcceptanceIsLogged,
  'Changes of the list are logged': changesAreLogged,
  'Last-Modified is when the content came, and goes on': lastModifiedGoesOn,
  'A store that fails is reported': aFailingStoreIsReported,
  'A store fails, and works again, when it does': storesWork,
};

/** @returns the first promise that was broken, and how; undefined: none */
export const check = (history: History, endedAtMs: number): string | undefined => {
  const [defect] = history.defects;
  if (defect !== undefined) return defect;
  const timeline = createTimeline(history, endedAtMs);
  for (const [promise, broken] of Object.entries(CHECKS))
    for (const [atMs, { name }, how] of broken(timeline))
      return `${promise}\n  ${moment(atMs)} ${name} ${how}`;
  return undefined;
};
