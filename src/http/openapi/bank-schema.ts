import type { JsonType, ObservedField } from '../../banks/reading/profile.ts';
import type { Config } from '../../config/config.ts';

// What a bank looks like: the configured names are this service's promise, and so are the JSON types seen in the cached
// list, because a list in which they change is refused.

type Fields = Config['banks']['fields'];

/** `observed`: undefined before the first list; every type is then left open. */
export const bankSchema = (fields: Fields, observed: readonly ObservedField[] | undefined) =>
  fields ? chosenFields(fields, observed) : allFields(observed);

const chosenFields = (
  fields: NonNullable<Fields>,
  observed: readonly ObservedField[] | undefined,
): SchemaObject => ({
  type: 'object',
  description: 'A field that the provider did not send is null.',
  properties: Object.fromEntries(
    fields.map(({ name, isOptional }) => {
      const field = observed?.find((one) => one.name === name);
      return [name, typesOf(field, isOptional)];
    }),
  ),
  required: fields.map(({ name }) => name),
  additionalProperties: false,
});

const allFields = (observed: readonly ObservedField[] = []): SchemaObject => ({
  type: 'object',
  description: 'Every field that the provider sends; those of the current list are named.',
  properties: Object.fromEntries(observed.map((field) => [field.name, typesOf(field)])),
  required: observed.filter(({ isNullable }) => !isNullable).map(({ name }) => name),
  additionalProperties: true,
});

interface SchemaObject {
  readonly type: 'object';
  readonly description: string;
  readonly properties: Readonly<Record<string, object>>;
  readonly required: readonly string[];
  readonly additionalProperties: boolean;
}

/** `isOptional`: any entry may lack the field, also where none does today. */
const typesOf = (field: ObservedField | undefined, isOptional = false): object => {
  if (!field || field.types.length === 0) return {};
  const types = [...field.types, ...(field.isNullable || isOptional ? ['null'] : [])];
  return { type: types.length === 1 ? types[0] : types };
};

/** A bank that has the schema's fields and types. */
export const exampleBank = (fields: Fields, observed: readonly ObservedField[] | undefined): object => {
  const names = fields ?? observed?.map(({ name }) => ({ name, from: name }));
  if (!names) return KNOWN_BANK;
  return Object.fromEntries(
    names.map(({ name, from }) => {
      const type = observed?.find((field) => field.name === name)?.types[0];
      const known = KNOWN_BANK[from];
      if (known !== undefined && (type ?? 'string') === 'string') return [name, known];
      return [name, type ? EXAMPLES[type] : null];
    }),
  );
};

const KNOWN_BANK: Readonly<Record<string, string>> = {
  code: '001',
  ispb: '00000000',
  name: 'BCO DO BRASIL S.A.',
};

const EXAMPLES: Readonly<Record<JsonType, unknown>> = {
  string: 'text',
  number: 1,
  boolean: true,
  object: {},
  array: [],
};
