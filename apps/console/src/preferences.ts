import { effect, signal } from '@preact/signals';

/** What a person has chosen for this browser. */

export type Language = 'en' | 'id';
export type Theme = 'system' | 'light' | 'dark';

export const language = signal<Language>(stored('language', ['en', 'id']) ?? preferredLanguage());
export const theme = signal<Theme>(stored('theme', ['system', 'light', 'dark']) ?? 'system');

function preferredLanguage(): Language {
  return navigator.languages.some((each) => /^id\b/i.test(each)) ? 'id' : 'en';
}

/** A browser may refuse to store anything: then a choice lasts as long as the page. */
function stored<Value extends string>(name: string, values: readonly Value[]): Value | null {
  try {
    const text = localStorage.getItem(`tiba.${name}`);
    return values.find((value) => value === text) ?? null;
  } catch {
    return null;
  }
}

function store(name: string, value: string): void {
  try {
    localStorage.setItem(`tiba.${name}`, value);
  } catch {
    // As above.
  }
}

export function applyPreferences(): void {
  effect(() => {
    document.documentElement.lang = language.value;
    store('language', language.value);
  });
  effect(() => {
    document.documentElement.dataset['theme'] = theme.value;
    store('theme', theme.value);
  });
}

export interface Text {
  readonly en: string;
  readonly id: string;
}

/** The text in the language of this browser; `{name}` is replaced. */
export const say = (text: Text, values: Readonly<Record<string, string | number>> = {}): string =>
  text[language.value].replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ''));
