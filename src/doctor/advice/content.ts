import { assertJsonType, parseJson } from '../../provider/contract.ts';
import type { ProviderAnswer } from '../../provider/exchange.ts';
import { signOfPages } from '../pagination.ts';
import { findLists } from '../survey.ts';
import { baseUrlVariable, type Advice, type Evidence } from './evidence.ts';

// Why an answer with status 200 cannot be read, or is not a list.

export const adviseOnContent = ({ config, observation }: Evidence): Advice => {
  const variable = baseUrlVariable(config);
  if (observation.answer) return adviseOnBody(observation.answer, variable);
  return observation.provider.head
    ? {
        step: 'content',
        likely: 'the connection ended in the middle of the answer, or its compression is damaged',
        next: 'run this again; if the failure persists, ask the provider, or the operator of a proxy in between',
      }
    : {
        step: 'status',
        likely: 'the server does not speak HTTP, or wants https:',
        next: `check the scheme and port of ${variable}`,
      };
};

const adviseOnBody = ({ body, contentType }: ProviderAnswer, variable: string): Advice => {
  const text = body.toString('latin1').trimStart();
  const advice = (likely: string, next: string): Advice => ({ step: 'content', likely, next });
  if (text.startsWith('<'))
    return advice(
      'a web page instead of the list: a login, a maintenance page, or a gateway in front of the API',
      `set ${variable} to the address of the API itself; if it is right, ask the provider`,
    );
  if (!passes(() => assertJsonType(contentType)) && passes(() => parseJson(body)))
    return advice(
      'the content is JSON, but its Content-Type says otherwise',
      'ask the provider to send application/json in UTF-8: error pages have such wrong labels',
    );
  if (!passes(() => new TextDecoder('utf-8', { fatal: true }).decode(body)))
    return advice(
      'the text has another encoding than UTF-8, such as ISO-8859-1',
      'ask the provider for UTF-8 (RFC 8259 section 8.1)',
    );
  return advice(
    text === '' ? 'the answer is empty' : 'the JSON is damaged, ends too early, or is nested too deeply',
    'run this again; if the failure persists, ask the provider',
  );
};

export const adviseOnNoList = ({ config, observation: { answer } }: Evidence): Advice => {
  const variable = baseUrlVariable(config);
  const value = answer && parseJson(answer.body);
  const lists = findLists(value);
  if (lists.length === 0)
    return {
      step: 'list',
      likely: 'another resource, or an error sent with status 200',
      next: `check ${variable}; then ask the provider`,
    };
  const pages = signOfPages(answer?.link, value);
  return {
    step: 'list',
    likely: `an envelope: the list is in the member ${lists.join(' or ')}${pages === undefined ? '' : `; ${pages}`}`,
    next:
      `check that ${variable} is not a gateway that wraps the answer; if the provider itself does, ` +
      'readList in src/banks/reading/list-reader.ts must unwrap it',
  };
};

const passes = (check: () => unknown): boolean => {
  try {
    check();
    return true;
  } catch {
    return false;
  }
};
