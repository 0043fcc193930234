import type { History } from '../history.ts';
import { moment } from '../plan.ts';
import * as calls from './calls.ts';
import * as fleet from './fleet.ts';
import * as freshness from './freshness.ts';
import * as guard from './guard.ts';
import * as served from './served.ts';
import * as operators from './operators.ts';
import * as secrets from './secrets.ts';
import { createTimeline, type Check } from './timeline.ts';
import * as upgrades from './upgrades.ts';
import * as waits from './waits.ts';

/** Every promise that is checked. */
const CHECKS: Readonly<Record<string, Check>> = {
  'A list is served until it is older than CACHE_TTL + CACHE_MAX_STALE':
    served.isServedUntilItIsTooOld,
  'A list older than CACHE_TTL + CACHE_MAX_STALE is never served': served.nothingTooOldIsServed,
  'The age that users read is true, whatever clocks do': served.agesAreTrue,
  'An entity tag is strong, and names the bytes of one list in one coding':
    served.anEntityTagNamesItsBytes,
  'The last decision, then the last question, decides which list is served':
    served.neverBackToWhatWasBefore,
  'A list that shrank or drifted replaces nothing unless an operator accepts it':
    served.theGuardHolds,
  'A list is compared with those of the window, unless it was one of them': guard.theGuardRemembers,
  'A first list in which no entry has a field is refused': served.aFirstListHasAllFields,
  'A snapshot from the future is renewed at once': served.aSnapshotFromTheFutureIsRenewed,
  'The snapshot file has the list that is served': served.theSnapshotHasTheList,
  'After a restart what was saved is served': served.aRestartServesWhatWasSaved,
  'An upgrade keeps the list': upgrades.anUpgradeKeepsTheList,
  'An upgrade keeps the decision of an operator': upgrades.anUpgradeKeepsTheDecision,
  'A wall clock that is corrected takes no list away': served.aCorrectedClockTakesNoListAway,
  'After a restart the age is true, whatever clocks there were before':
    served.aCorrectedClockChangesNoAge,
  'While the provider is healthy, nothing older than CACHE_TTL plus one fetch is served':
    freshness.whatIsServedIsFresh,
  'While the provider is healthy, there is a list': freshness.aListIsThereWhenTheProviderIs,
  'A request waits at most PROVIDER_TIMEOUT': freshness.nobodyWaitsTooLong,
  'Who comes without a list during a load waits for it': freshness.whoComesDuringALoadWaitsForIt,
  'Who waits for a load hears of its failure at once': freshness.whoWaitsHearsOfAFailureAtOnce,
  'Requests without a list get the failure of the fleet at once':
    freshness.aKnownFailureIsAnsweredAtOnce,
  'A browser without a list is told to come back within a minute':
    freshness.browsersAreToldToComeBackInTime,
  'A failure is one of the provider': freshness.failuresAreThoseOfTheProvider,
  'One call at a time': calls.oneCallAtATime,
  'Without a list nobody waits for all of a load of another replica':
    calls.nobodyWaitsForAllOfALoad,
  'A list is renewed ahead of its expiry, wherever it came from':
    calls.aListIsRenewedAheadOfItsExpiry,
  'Nobody calls while the list is fresh': calls.nobodyCallsWhileTheListIsFresh,
  'A replica that starts takes the shared list': calls.aStartTakesTheSharedList,
  'A replica that stops leaves its load to the others at once': calls.aStopLeavesTheLoadToTheOthers,
  'A fleet makes one call per CACHE_TTL': calls.aFleetMakesOneCallPerTtl,
  'Retry-After is obeyed by all': waits.retryAfterIsObeyed,
  'A fleet backs off as one client does': waits.aFleetBacksOffAsOneClient,
  'Retries back off from a second to a minute': waits.aFailureIsFollowedInTime,
  'While loads fail, attempts go on': waits.attemptsGoOn,
  'A list that was refused is asked for again once the cached one is over':
    waits.aRefusalEndsWithTheList,
  'All replicas agree within seconds, or a minute after a lost message': fleet.allServeTheSame,
  'ok means that the list of this question, or a later one, is that of the fleet':
    fleet.okMeansThatItIsShared,
  'A list is written only over the one that its writer knew':
    fleet.noListIsWrittenOverOneThatItsWriterDidNotKnow,
  'A damaged list is replaced at most 8 times a minute': fleet.damagedListsAreReplacedSparingly,
  'A damaged list is replaced within a minute where somebody has one': fleet.damageIsMended,
  'A list of a snapshot gives way to the one in Redis': fleet.aSnapshotGivesWay,
  'A list of a snapshot gives way to one in Redis that it does not certainly follow':
    fleet.aSnapshotThatFollowsNothingGivesWay,
  'A refresh is answered': fleet.aRefreshIsAnswered,
  'A refresh takes the time of one load': fleet.aRefreshTakesTheTimeOfOneLoad,
  'The state of the list is that of its age': operators.theStateIsThatOfTheAge,
  'The time of the last success is right': operators.theLastSuccessIsTold,
  'The list is described as it is': operators.theContentIsDescribed,
  'What is unusable in an answer, or missing, is told': operators.anAnswerIsDescribed,
  'What was unusable is told by every replica, as long as the list is cached':
    operators.aStoredListIsDescribed,
  'The last failure is told, also after a success': operators.theLastFailureIsTold,
  'A failure that is told is one that the provider caused': operators.failuresAreThoseOfTheProvider,
  'A list is told to be shared when Redis has it': operators.isSharedIsTrue,
  'A load is told while it goes on': operators.aLoadIsTold,
  'The store that a list was restored from is told': operators.theStoreIsTold,
  'Fields that the provider adds and removes are logged': operators.changesOfFieldsAreLogged,
  'Failures are counted until a load succeeds': operators.failuresAreToldUntilASuccess,
  'Each failed load is reported': operators.aFailureIsReported,
  'Each list that is taken is reported': operators.aTakenListIsReported,
  'Replicas with one list tell the same of it': operators.allTellTheSame,
  'The next load is made when the status page says': operators.theNextLoadIsTold,
  'A list is refused for a reason': operators.aRefusalHasAReason,
  'An acceptance is logged by every replica that takes the list': operators.anAcceptanceIsLogged,
  'Changes of the list are logged': operators.changesAreLogged,
  'The last large change is told': operators.theLastLargeChangeIsTold,
  'Last-Modified is when the content came, and goes on': operators.lastModifiedGoesOn,
  'Last-Modified comes with the list': operators.lastModifiedComesWithTheList,
  'A store that fails is reported': operators.aFailingStoreIsReported,
  'A store fails, and works again, when it does': operators.storesWork,
  'A store works again only after it has failed': operators.aStoreRecoversOnceFromAFailure,
  'A call is made with the token in the file, or the last usable one':
    secrets.aTokenIsThatOfItsFile,
  'A snapshot that is not signed with the key in the file is not restored':
    secrets.aSnapshotIsSignedWithTheKeyOfItsFile,
  'An unusable file is told within a second, for as long as it lasts': secrets.anUnusableFileIsTold,
  'A refresh names the unusable files': secrets.aRefreshNamesUnusableFiles,
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
