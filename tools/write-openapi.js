import { writeFileSync } from 'node:fs';
import { createProfile } from '../dist/src/banks/reading/profile.js';
import { createOpenApi } from '../dist/src/http/openapi.js';

// Writes the built service's OpenAPI document where the linters find it.

const fields = ['code', 'ispb', 'name'].map((name) => ({ name, from: name, isOptional: false }));
const bank = { code: '001', ispb: '00000000', name: 'BCO DO BRASIL S.A.' };
const profile = createProfile(fields.map(({ name }) => name));
profile.add(bank);
profile.add({ ...bank, code: null });
const list = {
  profile: profile.finish(),
  count: 2,
  representations: { identity: { body: Buffer.from(JSON.stringify([bank])) } },
};
writeFileSync(process.argv[2], JSON.stringify(createOpenApi({ version: '0.0.0', fields }, list)));
