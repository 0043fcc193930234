// Finds a secret in bytes, in any combination of encodings. It shares nothing with the service's
// own search: it decodes everything that could be encoded, layer by layer, and searches for the
// plain value.

/** The names of the secrets that are somewhere in `text`. */
export const leaksIn = (text: string, secrets: ReadonlyMap<string, string>): string[] => {
  const layers = new Set([text]);
  let outer = [text];
  for (let depth = 0; depth < 3; depth += 1) {
    outer = outer.flatMap(unwrap).filter((layer) => !layers.has(layer));
    for (const layer of outer) layers.add(layer);
  }
  return [...secrets]
    .filter(([, secret]) => [...layers].some((layer) => layer.includes(secret)))
    .map(([name]) => name);
};

const unwrap = (text: string): string[] => [
  text.replaceAll(/\\(?:u([\da-fA-F]{4})|(.))/g, (_all, code?: string, char = '') =>
    code === undefined ? (ESCAPED[char] ?? char) : String.fromCharCode(Number.parseInt(code, 16)),
  ),
  percentDecode(text),
  percentDecode(text.replaceAll('+', ' ')),
  ...decodeBase64(text),
];

const ESCAPED: Record<string, string> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' };

const percentDecode = (text: string): string =>
  text.replaceAll(/(?:%[\da-fA-F]{2})+/g, (run) =>
    Buffer.from(run.replaceAll('%', ''), 'hex').toString(),
  );

/** All runs of Base64 characters, decoded at each of the four possible offsets. */
const decodeBase64 = (text: string): string[] => {
  const runs = [...new Set(text.match(/[\w+/-]{8,}/g))];
  return [0, 1, 2, 3].map((start) =>
    runs.map((run) => Buffer.from(run.slice(start), 'base64').toString()).join('\n'),
  );
};
