// Renews the page in place: only the parts that have changed are replaced, so nothing flickers, scrolls or loses the
// focus. When the service does not answer, the page says that what it shows is old.

const EVERY_MS = 5_000;
const LIVE = ['as-of', 'headline', 'meaning', 'advice', 'facts', 'plots'];

const part = (page, id) => page.getElementById(id);

const lost = part(document, 'lost');
let since = '';

const replaceChanged = (next) => {
  for (const id of LIVE) {
    const [shown, renewed] = [part(document, id), part(next, id)];
    if (shown.innerHTML !== renewed.innerHTML) shown.replaceChildren(...renewed.childNodes);
  }
  part(document, 'verdict').dataset.tone = part(next, 'verdict').dataset.tone;
  document.title = next.title;
};

const renew = async () => {
  // Somebody is copying a command.
  const isSelecting = !document.getSelection()?.isCollapsed;
  if (document.hidden || isSelecting) return;
  try {
    const answer = await fetch('./', { cache: 'no-store', signal: AbortSignal.timeout(EVERY_MS) });
    if (!answer.ok) throw new Error('no page');
    replaceChanged(new DOMParser().parseFromString(await answer.text(), 'text/html'));
    since = '';
    lost.textContent = '';
  } catch {
    since ||= document.querySelector('#as-of time').textContent;
    lost.textContent = `The service does not answer. What you see below was true at ${since}.`;
  }
};

setInterval(() => void renew(), EVERY_MS);
document.addEventListener('visibilitychange', () => void renew());
