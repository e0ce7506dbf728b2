import { render } from 'preact';
import { App } from './app.tsx';
import { applyPreferences } from './preferences.ts';
import { followLinks } from './router.ts';

applyPreferences();
followLinks();
const root = document.querySelector('#app');
if (root !== null) render(<App />, root);
