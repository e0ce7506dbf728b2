import { say, type Text } from './preferences.ts';

const TITLE: Text = { en: 'Operator console', id: 'Konsol operator' };
const LOG_IN: Text = { en: 'Log in', id: 'Masuk' };
const SANDBOX: Text = {
  en: 'In the sandbox, open the link that npm start has printed.',
  id: 'Di sandbox, buka tautan yang dicetak oleh npm start.',
};

/** Leads to the login and, from there, back to the page that was asked for. */
export function Login() {
  const returnTo = encodeURIComponent(location.pathname + location.search);
  return (
    <main class="login">
      <h1>Tiba</h1>
      <p class="lead">{say(TITLE)}</p>
      <a class="button primary" href={`/operator/login?return_to=${returnTo}`}>
        {say(LOG_IN)}
      </a>
      <p class="small muted">{say(SANDBOX)}</p>
    </main>
  );
}
