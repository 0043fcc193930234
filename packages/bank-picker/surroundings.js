// What the page around an element says. The element may be in a shadow root, and that in another one.

/** The page or the shadow root that an element is in. */
export const rootOf = (/** @type {Element} */ element) =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- in an iframe they are of its own classes
  /** @type {Document | ShadowRoot} */ (element.getRootNode());

/**
 * The roots that an element is in, from the closest one to the page.
 * @param {Element} element
 * @returns {(Document | ShadowRoot)[]}
 */
export const rootsAround = (element) => {
  const root = rootOf(element);
  return 'host' in root ? [root, ...rootsAround(root.host)] : [root];
};

/**
 * The language of the closest element that has one.
 * @param {Element} element
 * @returns {string}
 */
export const languageOf = (element) => {
  const language = element.closest('[lang]:not([lang=""])')?.getAttribute('lang');
  if (language) return language;
  const root = rootOf(element);
  return 'host' in root ? languageOf(root.host) : navigator.language;
};

/**
 * The text of the elements that `aria-labelledby` names; '' where it names none.
 * @param {Element} element
 */
export const labelledBy = (element) => {
  if (!element.isConnected) return '';
  const ids = element.getAttribute('aria-labelledby')?.split(/\s+/) ?? [];
  const root = rootOf(element);
  return ids
    .map((id) => (id === '' ? '' : root.getElementById(id)?.textContent.trim()))
    .filter(Boolean)
    .join(' ');
};
