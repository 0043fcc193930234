/** `compare`, which is called once for each pair of objects: many checks compare the same ones. */
export const oncePerPair = <Item extends object, Result>(
  compare: (some: Item, other: Item) => Result,
): ((some: Item, other: Item) => Result) => {
  const results = new WeakMap<Item, WeakMap<Item, { readonly result: Result }>>();
  return (some, other) => {
    const ofSome = results.get(some) ?? new WeakMap();
    results.set(some, ofSome);
    const known = ofSome.get(other) ?? { result: compare(some, other) };
    ofSome.set(other, known);
    return known.result;
  };
};
