import { call } from '../api/request.ts';
import { Action } from '../components/action.tsx';
import { say, type Text } from '../preferences.ts';
import { outcomeAfter } from '../resend-outcome.ts';

const RESEND: Text = { en: 'Send again', id: 'Kirim ulang' };
const RESEND_TEXT: Text = {
  en: 'The callback is sent at once, and with the whole retry schedule if it fails. Receivers must take it twice.',
  id: 'Callback langsung dikirim, dengan seluruh jadwal ulang bila gagal. Penerima harus siap menerima dua kali.',
};
const RESENT: Text = { en: 'It is on its way.', id: 'Sedang dikirim.' };
const ACCEPTED: Text = { en: 'Accepted ({answer})', id: 'Diterima ({answer})' };
const FAILED: Text = { en: 'Failed: {answer}', id: 'Gagal: {answer}' };
const NO_ANSWER: Text = { en: 'No answer yet', id: 'Belum ada jawaban' };

/** A receiver has 15 seconds to answer. */
const LOOKS_MAX = 20;
const LOOK_MS = 1_000;

interface ResendProps {
  readonly clientId: string;
  readonly deliveryId: string;
  /** Whose history has the attempts; null for a callback about something else. */
  readonly transactionId: string | null;
  /** What it says, and who gets it: for people, whom the ID of a delivery tells nothing. */
  readonly about: string;
  /** When it is sent, and when it was answered. */
  readonly onDone: () => void;
  /** What became of it: for the page, whose list may not have this callback any more. */
  readonly onResult: (text: string) => void;
}

/** Sends one callback again. */
export function Resend({ clientId, deliveryId, transactionId, about, onDone, onResult }: ResendProps) {
  const follow = async (attempts: number): Promise<void> => {
    if (transactionId === null) return;
    const result = await resultOf({ clientId, deliveryId, transactionId }, attempts);
    onResult(`${about} · ${result}`);
    onDone();
  };
  return (
    <Action
      title={say(RESEND)}
      label={`${say(RESEND)}: ${about}`}
      description={say(RESEND_TEXT)}
      onDone={onDone}
      run={async (reason) => {
        const path = { delivery_id: deliveryId };
        const sent = await call('resendCallbackDelivery', { path, body: { client_id: clientId, reason } });
        onResult(`${about} · ${say(RESENT)}`);
        void follow(sent.attempt_count);
        return '';
      }}
    />
  );
}

async function resultOf(
  { clientId, deliveryId, transactionId }: Readonly<Record<'clientId' | 'deliveryId' | 'transactionId', string>>,
  attempts: number,
): Promise<string> {
  const input = { path: { transaction_id: transactionId }, query: { client_id: clientId } };
  for (let look = 0; look < LOOKS_MAX; look += 1) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    const timeline = await call('readTransactionTimeline', input).catch(() => null);
    const outcome = outcomeAfter(timeline?.entries ?? [], deliveryId, attempts);
    if (outcome !== null) return say(outcome.isAccepted ? ACCEPTED : FAILED, { answer: outcome.answer });
  }
  return say(NO_ANSWER);
}
