import type { Overridable } from '../../src/banks/guard/guard.ts';
import type { Trouble } from './history.ts';
import type { Setup } from './plan.ts';
import { refresh, type Life, type Machine, type Surroundings } from './replica.ts';
import { ADDRESS, TOKEN, versionOf, type SecretName, type Version } from './secret-files.ts';
import { newOwner } from './world.ts';

// What events are made of: something happens later, something is wrong for a while and is recorded,
// an operator asks.

export interface Stage extends Surroundings {
  readonly setup: Setup;
  readonly machines: readonly Machine[];
}

export type Director = ReturnType<typeof createDirector>;

export const createDirector = (stage: Stage) => {
  const { world, history, machines, provider, redis } = stage;
  /** To whom what is planned happens, and whatever else comes from outside. */
  const owner = newOwner('director');
  let isHealed = false;
  const lives = (): Life[] => machines.flatMap(({ life }) => life ?? []);
  const isAwake = ({ state, asleepUntilMs }: Life): boolean =>
    state === 'running' && asleepUntilMs <= world.nowMs();

  // What is switched on until its time is over, or until something else takes its place.
  const lasting = new Map<string, symbol>();
  const record = (
    kind: Trouble['kind'],
    who: Trouble['who'],
    untilMs = world.nowMs(),
    what?: string,
  ): Trouble => {
    const trouble = { kind, who, fromMs: world.nowMs(), untilMs, what };
    history.troubles.push(trouble);
    return trouble;
  };
  const during = (name: string, trouble: Trouble, set: (isOn: boolean) => void): void => {
    const mine = Symbol(name);
    lasting.set(name, mine);
    set(true);
    world.later(trouble.untilMs - world.nowMs(), owner, `end of ${name}`, () => {
      if (lasting.get(name) === mine) set(false);
    });
  };
  const until = (forMs: number): number => world.nowMs() + forMs;
  /** Unless all has been healed by then. */
  const later = (afterMs: number, what: string, happen: () => void): void =>
    void world.later(afterMs, owner, what, () => {
      if (!isHealed) happen();
    });

  /** @param toAccept undefined: the operator leaves it as it is */
  const operate = (
    afterMs: number,
    { name }: Machine,
    toAccept: (life: Life) => readonly Overridable[] | undefined,
  ): void =>
    later(afterMs, `an operator of ${name}`, () => {
      const life = lives().find((each) => each.name === name && isAwake(each));
      const reasons = life && toAccept(life);
      if (reasons) void refresh(stage, life, reasons);
    });
  /** The other side accepts this version of a secret from now on, or does not. */
  const accept = (name: SecretName, version: Version, isAccepted: boolean): void => {
    if (name === 'PROVIDER_ACCESS_TOKEN') provider.accept(versionOf(TOKEN, version), isAccepted);
    if (name === 'CACHE_REDIS_URL') redis.accept(versionOf(ADDRESS, version), isAccepted);
  };
  return {
    ...stage,
    owner,
    lives,
    isAwake,
    record,
    during,
    until,
    later,
    operate,
    accept,
    isHealed: (): boolean => isHealed,
    /** Nothing that is planned, and nothing that is wrong for a while, happens any more. */
    heal: (): void => {
      isHealed = true;
      lasting.clear();
    },
  };
};
