/** Fills in what the service that serves the site says about itself: its addresses and its limits. */

/** In the pages, the addresses of a sandbox with its own ports. */
const PUBLIC = 'http://127.0.0.1:8080';
const SNAP = 'http://127.0.0.1:8082';

/** Pages about a sandbox on the reader's own machine. */
const LOCAL = /\/guides\/(?:start|sandbox)$|\/simulated-bank$|\/production$/;

let description;

export async function fillInService() {
  description ??= fetch(`${import.meta.env.BASE_URL}service.json`).then(
    (answer) => (answer.ok ? answer.json() : null),
    () => null,
  );
  const service = await description;
  if (service === null) return;
  for (const element of document.querySelectorAll('[data-limit]')) {
    const limit = service.limits[element.dataset.limit];
    if (limit !== undefined) element.textContent = limit.toLocaleString(document.documentElement.lang);
  }
  if (!service.sandbox && LOCAL.test(location.pathname)) return;
  for (const code of document.querySelectorAll('.vp-doc code')) {
    const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
    for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
      const filled = text.data.replaceAll(PUBLIC, service.base_url).replaceAll(SNAP, service.snap_url ?? SNAP);
      if (filled !== text.data) text.data = filled;
    }
  }
}
