import { writeFileSync } from 'node:fs';
import { createOpenApi } from '../../dist/src/http/openapi.js';

// Writes the built service's OpenAPI document where the linters find it.

const fields = ['code', 'ispb', 'name'].map((name) => ({ name, from: name, isOptional: false }));
const observed = fields.map(({ name }) => ({
  name,
  types: ['string'],
  isNullable: name === 'code',
}));
const bank = { code: '001', ispb: '00000000', name: 'BCO DO BRASIL S.A.' };
writeFileSync(
  process.argv[2],
  JSON.stringify(createOpenApi({ version: '0.0.0', fields, observed, bank })),
);
