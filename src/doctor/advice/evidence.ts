import type { Config } from '../../config/config.ts';
import type { VariableName } from '../../config/variables.ts';
import type { MissingField } from '../bank-fields.ts';
import type { Observation } from '../observe.ts';
import type { Survey } from '../survey.ts';

// What the advice is derived from, and its form.

/** The steps in the order in which an exchange takes them. */
export const STEPS = ['token', 'address', 'TLS', 'status', 'content', 'list', 'entries'] as const;

export type StepName = (typeof STEPS)[number] | 'configuration';

export interface Advice {
  readonly step: StepName;
  /** The likely cause. */
  readonly likely: string;
  /** What to do next. */
  readonly next: string;
}

/** Everything that is known about an exchange. */
export interface Evidence {
  readonly config: Config;
  readonly observation: Observation;
  readonly survey: Survey;
  /** The fields of BANK_FIELDS that no entry has. */
  readonly missing: readonly MissingField[];
}

/** The variable that holds the address in use. */
export const baseUrlVariable = ({ provider }: Config): VariableName =>
  provider.environment === 'production' ? 'PROVIDER_PRODUCTION_BASE_URL' : 'PROVIDER_SANDBOX_BASE_URL';
