import { render } from 'preact';
import { loadSession } from './api/session.ts';
import { App } from './app.tsx';
import { applyPreferences } from './preferences.ts';
import { followLinks } from './router.ts';

applyPreferences();
followLinks();
void loadSession();
const root = document.querySelector('#app');
if (root !== null) render(<App />, root);
