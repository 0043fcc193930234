import { LoadError } from '../banks/load-error.ts';
import type { Config } from '../config/config.ts';
import type { ClientCredentials } from '../config/provider.ts';
import { escapeForForms } from '../form-escapes.ts';
import { UNUSABLE_GRANT } from '../provider/grant.ts';
import type { Observation } from './observe.ts';

// Other ways to ask the token endpoint, after it has refused the configured one: at most one
// load for each. None is made unless the error is about the format or the client's
// authentication.

/** A load with other settings. */
export interface Trial {
  /** What differs, as lines of the configuration. */
  readonly lines: readonly string[];
  readonly config: Config;
  readonly observation: Observation;
}

export interface TokenTrials {
  /** What was tried, and the response to it; empty if nothing was tried. */
  readonly tried: readonly string[];
  /** The one that got a token, or passed the client's authentication. */
  readonly working: Trial | undefined;
}

/** An error response of the token endpoint. */
interface TokenError {
  readonly status: number;
  /** The code of RFC 6749 section 5.2, if it sent one. */
  readonly code: string | undefined;
}

type Settings = Pick<ClientCredentials, 'auth' | 'format'>;

/** @param observe makes one load */
export const tryTokenRequests = async (
  config: Config,
  first: Observation,
  observe: (config: Config) => Promise<Observation>,
): Promise<TokenTrials> => {
  const source = config.provider.token;
  const tried: string[] = [];
  let working: Trial | undefined;
  if (source.kind !== 'client-credentials') return { tried, working };

  /** The error; undefined if there is a token, or another failure. */
  const attempt = async (settings: Settings): Promise<TokenError | undefined> => {
    const token = { ...source, ...settings };
    const changed: Config = { ...config, provider: { ...config.provider, token } };
    const observation = await observe(changed);
    const error = tokenErrorOf(observation);
    const lines = linesFor(settings, source);
    tried.push(`${lines.join(' ')}: ${describeResponse(observation)}`);
    if (hasToken(observation) || (error && isPastClient(error)))
      working = { lines, config: changed, observation };
    return error;
  };

  /** The other ways of authentication, one after the other, until one works. */
  const tryOtherWays = async (format: Settings['format']): Promise<void> => {
    for (const auth of otherWays(source)) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const error = await attempt({ auth, format });
      // It may read the client only from a body in the other format.
      const mayReadOther = auth === 'post' && error && format === source.format;
      // oxlint-disable-next-line no-await-in-loop
      if (!working && mayReadOther) await attempt({ auth, format: otherFormat(format) });
      if (working) return;
    }
  };

  const error = tokenErrorOf(first);
  if (error && isAboutFormat(error)) {
    const format = otherFormat(source.format);
    const next = await attempt({ auth: source.auth, format });
    if (!working && next && isAboutClient(next)) await tryOtherWays(format);
  } else if (error && isAboutClient(error)) await tryOtherWays(source.format);
  return { tried, working };
};

/** The token endpoint's error, if the load ended with one. */
export const tokenErrorOf = ({ outcome, contacts }: Observation): TokenError | undefined => {
  const status = contacts['the token endpoint']?.head?.status;
  if (!(outcome instanceof LoadError) || outcome.kind !== 'no_token' || status === undefined)
    return undefined;
  const code = outcome.reasonCode === UNUSABLE_GRANT ? undefined : outcome.reasonCode;
  return { status, code };
};

export const isAboutClient = ({ status, code }: TokenError): boolean =>
  code === 'invalid_client' || (status === 401 && code === undefined);

/** Whether the client was authenticated, and the error is about what it requested. */
const isPastClient = ({ code = '' }: TokenError): boolean =>
  ['invalid_scope', 'unauthorized_client', 'unsupported_grant_type'].includes(code);

/** Certainly with 415; possibly with 400 and 422. */
const isAboutFormat = ({ status, code }: TokenError): boolean =>
  status === 415 ||
  ([400, 422].includes(status) && (code === undefined || code === 'invalid_request'));

/** The ways that would send something different, each once. */
const otherWays = ({
  auth,
  clientId,
  clientSecret,
}: ClientCredentials): readonly ClientCredentials['auth'][] => {
  const texts = [clientId, 'reveal' in clientSecret ? clientSecret.reveal() : '%'];
  const isSame = texts.every((text) => escapeForForms(text) === text);
  const ways = (['basic', 'basic_plain', 'post'] as const).filter((way) => way !== auth);
  return ways.filter((way) => {
    if (way === 'post') return true;
    // If nothing needs escaping, both ways of HTTP Basic send the same.
    if (isSame) return way === 'basic' && auth === 'post';
    return way === 'basic' || !clientId.includes(':');
  });
};

const otherFormat = (format: Settings['format']): Settings['format'] =>
  format === 'form' ? 'json' : 'form';

const hasToken = ({ contacts, outcome }: Observation): boolean =>
  contacts['the provider'] !== undefined &&
  !(outcome instanceof LoadError && outcome.kind === 'no_token');

const linesFor = ({ auth, format }: Settings, configured: Settings): readonly string[] => [
  ...(auth === configured.auth ? [] : [`PROVIDER_TOKEN_AUTH=${auth}`]),
  ...(format === configured.format ? [] : [`PROVIDER_TOKEN_FORMAT=${format}`]),
];

const describeResponse = (observation: Observation): string => {
  if (hasToken(observation)) return 'granted';
  const error = tokenErrorOf(observation);
  return error ? [error.status, error.code].filter(Boolean).join(' ') : 'no response';
};
