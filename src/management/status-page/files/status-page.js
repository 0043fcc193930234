// Renews the page in place: only the parts that have changed are replaced, so nothing flickers, scrolls or loses the
// focus. All of them change together: the page never shows two moments at once. Without an answer the page turns grey and
// says so. It does that in background tabs too: their titles are read.

const INTERVAL_MS = 5_000;
const VERDICT = ['headline', 'meaning', 'problems', 'actions'];
const REST = ['as-of', 'facts', 'plots'];

const root = document.documentElement;
let noContact = document.querySelector('template');

const replaceParts = (source, ids, title) => {
  for (const id of ids) {
    const shown = document.getElementById(id);
    const renewed = source.getElementById(id);
    if (shown.innerHTML !== renewed.innerHTML)
      shown.replaceChildren(...renewed.cloneNode(true).childNodes);
  }
  document.getElementById('verdict').dataset.severity =
    source.getElementById('verdict').dataset.severity;
  document.title = title;
};

const renew = async () => {
  try {
    const answer = await fetch('./', {
      cache: 'no-store',
      signal: AbortSignal.timeout(INTERVAL_MS),
    });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    const next = new DOMParser().parseFromString(await answer.text(), 'text/html');
    // Another version has other parts, and another script.
    if (next.documentElement.dataset.version !== root.dataset.version) return location.reload();
    noContact = next.querySelector('template');
    replaceParts(next, [...VERDICT, ...REST], next.title);
    delete root.dataset.contact;
  } catch {
    replaceParts(noContact.content, VERDICT, noContact.dataset.title);
    root.dataset.contact = 'lost';
  }
};

let renewing;
const renewOnce = () => (renewing ??= renew().finally(() => (renewing = undefined)));

const renewLater = () => setTimeout(() => void renewOnce().then(renewLater), INTERVAL_MS);

renewLater();
// Browsers slow down the timers of background tabs.
document.addEventListener('visibilitychange', () => document.hidden || renewOnce());
