import { isPlainName } from './field-names.ts';
import type { PublishableField } from './reading/upstream-fields.ts';

// What BANK_FIELDS may be, made of the provider's fields.

/**
 * The fields as BANK_FIELDS writes them: `code`, `ispb:ids.ispb` for one inside an object, `logo?`
 * for one that few entries have. Those whose names cannot stand there are left out.
 */
export const suggestFields = (fields: readonly PublishableField[]): readonly string[] => {
  const plain = fields.filter(({ path }) => isPlainName(path));
  return plain.map(({ path, share }) => {
    const name = shortName(path, plain);
    const item = name === path ? path : `${name}:${path}`;
    return share < FEW ? `${item}?` : item;
  });
};

/** With `?` a field is not checked any more: that is for those that most entries lack. */
const FEW = 0.5;

/** The last name of a path, or more of it where another field is called that. */
const shortName = (path: string, others: readonly PublishableField[]): string => {
  const names = path.split('.');
  for (let from = names.length - 1; from >= 0; from -= 1) {
    const name = names.slice(from).join('_');
    const isTaken = others.some(
      (other) =>
        other.path !== path && (other.path === name || endsWith(other.path, names.slice(from))),
    );
    if (!isTaken && name !== '') return name;
  }
  return path;
};

const endsWith = (path: string, names: readonly string[]): boolean =>
  path.includes('.') && path.split('.').slice(-names.length).join('.') === names.join('.');
