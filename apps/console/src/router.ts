import { signal } from '@preact/signals';

/** Every state of the console has an address below `/console/`. */

const BASE = '/console/';

export interface Place {
  /** Below `/console/`, without a slash at its begin or end: `transactions/TB1`. */
  readonly path: string;
  readonly query: URLSearchParams;
}

const readPlace = (): Place => ({
  path: location.pathname.slice(BASE.length).replace(/\/$/, ''),
  query: new URLSearchParams(location.search),
});

export const place = signal<Place>(readPlace());

/** The address of a page. Its parts are escaped; an empty value of the query is left out. */
export function address(parts: readonly string[], query: Readonly<Record<string, string | null>> = {}): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => (entry[1] ?? '') !== '');
  const text = new URLSearchParams(given).toString();
  return `${BASE}${parts.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`;
}

export function navigate(href: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  if (replace) history.replaceState(null, '', href);
  else history.pushState(null, '', href);
  place.value = readPlace();
  if (!replace) scrollTo(0, 0);
}

/** Links of the console change the page without loading it; anything else the browser does as always. */
export function followLinks(): void {
  addEventListener('popstate', () => {
    place.value = readPlace();
  });
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (link === null || link.target !== '' || link.origin !== location.origin) return;
    if (!link.pathname.startsWith(BASE)) return;
    event.preventDefault();
    navigate(link.href);
  });
}
