import { createHmac, timingSafeEqual } from 'node:crypto';
import { StoreError } from './store-report.ts';

// What is saved outside the process is signed where CACHE_SIGNING_KEY is set: HMAC-SHA-256 (RFC
// 2104) over every byte and its purpose, so that a lease cannot pass for a list. What is not
// signed with the key counts as absent.

export type Signing = ReturnType<typeof createSigning>;

/** A SHA-256 in Base64url. */
export const SIGNATURE_CHARS = 43;

/** What is signed. */
type Purpose = 'list' | 'lease' | 'key id';

/**
 * @param readKey gives the key; undefined: nothing is signed. It throws a SecretFileError while
 *   there is no usable one
 */
export const createSigning = (readKey: (() => Promise<string>) | undefined) => {
  const signatureOf = (key: string, purpose: Purpose, bytes: Buffer): string =>
    createHmac('sha256', key).update(`banks-bff ${purpose}\n`).update(bytes).digest('base64url');
  return {
    /** Tells one key from another in the names of what is saved; empty without a key. */
    keyId: async (): Promise<string> =>
      readKey ? signatureOf(await readKey(), 'key id', Buffer.alloc(0)).slice(0, 8) : '',
    /** `bytes`, which end with a line break, and their signature. */
    sign: async (purpose: Purpose, bytes: Buffer): Promise<Buffer> =>
      readKey
        ? Buffer.concat([bytes, Buffer.from(`${signatureOf(await readKey(), purpose, bytes)}\n`)])
        : bytes,
    /** What was signed. @throws {StoreError} if the signature is not that of the key */
    verify: async (purpose: Purpose, signed: Buffer): Promise<Buffer> => {
      if (!readKey) return signed;
      const bytes = signed.subarray(0, -SIGNATURE_CHARS - 1);
      const signature = Buffer.from(`${signatureOf(await readKey(), purpose, bytes)}\n`);
      const found = signed.subarray(bytes.length);
      if (found.length !== signature.length || !timingSafeEqual(found, signature))
        throw new StoreError('is not signed with CACHE_SIGNING_KEY; ignored');
      return bytes;
    },
  };
};
