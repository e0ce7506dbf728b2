import { useEffect, useRef } from 'preact/hooks';
import { hasApprovals, may } from './api/session.ts';
import { say, type Text } from './preferences.ts';
import { address, place } from './router.ts';
import { TEXTS } from './texts.ts';

interface Entry {
  readonly path: string;
  readonly text: Text;
  readonly isShown?: () => boolean;
}

const ENTRIES: readonly Entry[] = [
  { path: '', text: TEXTS.overview },
  { path: 'transactions', text: TEXTS.transactions },
  { path: 'overdue', text: TEXTS.overdue },
  { path: 'reviews', text: TEXTS.reviews },
  { path: 'callbacks', text: TEXTS.callbacks },
  { path: 'replays', text: TEXTS.replays },
  { path: 'banks', text: TEXTS.banks },
  { path: 'clients', text: TEXTS.clients },
  { path: 'validations', text: TEXTS.validations },
  { path: 'enumeration', text: TEXTS.enumeration },
  { path: 'proposals', text: TEXTS.proposals, isShown: () => hasApprovals() && may('readProposals') },
  { path: 'audit', text: TEXTS.audit, isShown: () => may('readAudit') },
  { path: 'sessions', text: TEXTS.sessions, isShown: () => may('readSessions') },
  { path: 'processes', text: TEXTS.processes },
];

const MENU: Text = { en: 'Pages', id: 'Halaman' };

export function Menu() {
  const [current = ''] = place.value.path.split('/');
  const menu = useRef<HTMLElement>(null);
  useEffect(() => {
    // On a phone the menu is a line that is longer than the screen.
    const link = menu.current?.querySelector<HTMLElement>('[aria-current]');
    if (link !== null && link !== undefined) menu.current?.scrollTo({ left: link.offsetLeft - link.offsetWidth });
  }, [current]);
  return (
    <nav class="menu" aria-label={say(MENU)} ref={menu}>
      {ENTRIES.filter(({ isShown }) => isShown?.() !== false).map(({ path, text }) => (
        <a key={path} href={address(path === '' ? [] : [path])} aria-current={current === path ? 'page' : undefined}>
          {say(text)}
        </a>
      ))}
    </nav>
  );
}
