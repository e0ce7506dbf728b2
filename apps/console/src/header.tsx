import { useEffect, useRef } from 'preact/hooks';
import { logOut, person } from './api/session.ts';
import { Chip } from './components/values.tsx';
import { language, say, type Text, theme } from './preferences.ts';
import { address, navigate, place } from './router.ts';
import { readSearch } from './search-text.ts';
import { settings } from './settings.ts';
import { TEXTS } from './texts.ts';

const THEMES = {
  system: { next: 'light', text: { en: 'Theme: as the system', id: 'Tema: ikut sistem' }, sign: '◐' },
  light: { next: 'dark', text: { en: 'Theme: light', id: 'Tema: terang' }, sign: '○' },
  dark: { next: 'system', text: { en: 'Theme: dark', id: 'Tema: gelap' }, sign: '●' },
} as const;
const OTHER_LANGUAGE: Text = { en: 'Bahasa Indonesia', id: 'English' };
const LOG_OUT: Text = { en: 'Log out', id: 'Keluar' };
const ENVIRONMENTS = {
  sandbox: { tone: 'busy', text: { en: 'Sandbox', id: 'Sandbox' } },
  staging: { tone: 'warn', text: { en: 'Staging', id: 'Staging' } },
  production: { tone: 'bad', text: { en: 'Production', id: 'Produksi' } },
} as const;

export function Header() {
  const environment = settings.value === null ? null : ENVIRONMENTS[settings.value.environment];
  const { next, text, sign } = THEMES[theme.value];
  return (
    <header class="top">
      <a class="brand" href={address([])}>
        Tiba
      </a>
      {environment !== null && <Chip tone={environment.tone} text={say(environment.text)} />}
      <SearchBox />
      <div class="person">
        <button
          type="button"
          class="quiet"
          lang={language.value === 'en' ? 'id' : 'en'}
          title={say(OTHER_LANGUAGE)}
          onClick={() => {
            language.value = language.value === 'en' ? 'id' : 'en';
          }}
        >
          {language.value === 'en' ? 'ID' : 'EN'}
        </button>
        <button
          type="button"
          class="quiet"
          aria-label={say(text)}
          title={say(text)}
          onClick={() => {
            theme.value = next;
          }}
        >
          {sign}
        </button>
        <span class="name">
          {person()?.name} <span class="muted">{person()?.roles.at(-1)}</span>
        </span>
        <button type="button" class="quiet" onClick={() => void logOut()}>
          {say(LOG_OUT)}
        </button>
      </div>
    </header>
  );
}

/** `/` brings the focus here from anywhere, Escape takes it back. */
function SearchBox() {
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const focus = (event: KeyboardEvent): void => {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isWriting(event.target)) return;
      event.preventDefault();
      box.current?.focus();
      box.current?.select();
    };
    document.addEventListener('keydown', focus);
    return () => document.removeEventListener('keydown', focus);
  }, []);

  const search = (event: Event): void => {
    event.preventDefault();
    const text = box.current?.value.trim() ?? '';
    if (text === '') return;
    const query = readSearch(text, new Date());
    const isOne = query.q !== undefined && Object.keys(query).length === 1;
    navigate(address(['transactions'], isOne ? { q: query.q } : { ...query, text }));
    box.current?.blur();
  };
  const { query } = place.value;
  return (
    <search>
      <form onSubmit={search}>
        <input
          ref={box}
          type="search"
          name="q"
          autocomplete="off"
          spellcheck={false}
          maxLength={200}
          aria-label={say(TEXTS.search)}
          aria-keyshortcuts="/"
          placeholder={say(TEXTS.searchHint)}
          title={say(TEXTS.searchHint)}
          defaultValue={query.get('text') ?? query.get('q') ?? ''}
          onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
        />
        <kbd aria-hidden="true">/</kbd>
      </form>
    </search>
  );
}

const isWriting = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.closest('input, textarea, select, dialog') !== null;
