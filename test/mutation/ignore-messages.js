// A sentence that is thrown or reported is for people: another wording is not a fault, and a test for each would only repeat
// it. What programs read of an error, its kind and its fields, is mutated.

const isSentence = (node) =>
  (node.type === 'StringLiteral' && node.value.includes(' ')) ||
  (node.type === 'TemplateLiteral' && node.quasis.some((part) => part.value.raw.includes(' ')));

const isReport = ({ type, callee }) =>
  type === 'NewExpression' ||
  (type === 'CallExpression' && [callee.name, callee.property?.name].includes('report'));

export const strykerPlugins = [
  {
    kind: 'Ignore',
    name: 'messages',
    value: {
      shouldIgnore: ({ node, parent }) =>
        isSentence(node) && parent && isReport(parent) ? 'the wording of a message' : undefined,
    },
  },
];
