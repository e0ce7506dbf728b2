import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { say, type Text } from '../preferences.ts';
import { TEXTS } from '../texts.ts';
import { Copy } from './values.tsx';

/**
 * A new secret, which the service shows once. It is in the memory of this page only, until the button of its dialog is
 * used: also when the session ends meanwhile.
 */

const TITLE: Text = { en: 'Copy the secret now', id: 'Salin secret sekarang' };
const ONCE: Text = {
  en: 'It is not shown again, to you or to others. Give it to the client over a way that only the client can read.',
  id: 'Secret tidak ditampilkan lagi, juga kepada orang lain. Kirim lewat jalur yang hanya bisa dibaca klien.',
};

const shown = signal<string | null>(null);

/** Also over a page that changes meanwhile. */
export function showSecret(secret: string): void {
  shown.value = secret;
}

const SECRET_FIELDS = ['client_secret', 'snap_secret', 'secret'] as const;

/** Shows the secret in what an approved change has answered, if it made one. */
export function showSecretIn(result: string | null): void {
  const data = JSON.parse(result ?? '{}') as Readonly<Record<string, unknown>>;
  const secret = SECRET_FIELDS.map((name) => data[name]).find((value) => typeof value === 'string');
  if (typeof secret === 'string') showSecret(secret);
}

export function SecretDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const secret = shown.value;
  useEffect(() => {
    if (secret !== null) dialog.current?.showModal();
  }, [secret]);
  if (secret === null) return null;
  const close = (): void => {
    shown.value = null;
  };
  return (
    // Escape, or the gesture to go back, would lose the secret. A browser heeds `cancel` only after a click, and may
    // not know `closedby`: what it closes all the same is opened again.
    <dialog
      ref={dialog}
      closedby="none"
      onKeyDown={(event) => event.key === 'Escape' && event.preventDefault()}
      onCancel={(event) => event.preventDefault()}
      onClose={() => dialog.current?.showModal()}
      aria-label={say(TITLE)}
    >
      <h2>{say(TITLE)}</h2>
      <p>{say(ONCE)}</p>
      <p class="secret">
        <code>{secret}</code> <Copy text={secret} label={say(TITLE)} />
      </p>
      <div class="buttons">
        <button type="button" class="primary" onClick={close}>
          {say(TEXTS.close)}
        </button>
      </div>
    </dialog>
  );
}
