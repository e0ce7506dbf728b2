import { call } from '../api/request.ts';
import { may } from '../api/session.ts';
import { Action } from '../components/action.tsx';
import { Time } from '../components/values.tsx';
import { withLocalTimes } from '../format.ts';
import type { OperatorTransaction, TimelineEntry } from '../generated/api.ts';
import { language, say, type Text } from '../preferences.ts';
import { TimelineDrawing } from './timeline-drawing.tsx';

/** A kind that is new in the service appears as it is named there. */
const KIND_TEXTS: Readonly<Partial<Record<string, Text>>> = {
  created: { en: 'Order', id: 'Order' },
  status_update: { en: 'Status', id: 'Status' },
  bank_inquiry: { en: 'Bank', id: 'Bank' },
  event: { en: 'Event', id: 'Peristiwa' },
  callback_delivery: { en: 'Callback', id: 'Callback' },
  callback_attempt: { en: 'Attempt', id: 'Percobaan' },
  account_check: { en: 'Check', id: 'Cek' },
  operator_action: { en: 'Operator', id: 'Operator' },
};

const entryText = ({ text, text_id: indonesian }: TimelineEntry): string =>
  language.value === 'en' ? text : indonesian;

const RESEND: Text = { en: 'Send again', id: 'Kirim ulang' };
const RESEND_TEXT: Text = {
  en: 'The callback is sent at once, and with the whole retry schedule if it fails. Receivers must take it twice.',
  id: 'Callback langsung dikirim, dengan seluruh jadwal ulang bila gagal. Penerima harus siap menerima dua kali.',
};
const RESENT: Text = { en: 'It is on its way.', id: 'Sedang dikirim.' };

/** Sends one callback again. */
export function Resend({
  clientId,
  deliveryId,
  about,
  onDone,
}: {
  readonly clientId: string;
  readonly deliveryId: string;
  /** What it says, and who gets it: for people, whom the ID of a delivery tells nothing. */
  readonly about: string;
  readonly onDone: () => void;
}) {
  return (
    <Action
      title={say(RESEND)}
      label={`${say(RESEND)}: ${about}`}
      description={say(RESEND_TEXT)}
      onDone={onDone}
      run={async (reason) => {
        const path = { delivery_id: deliveryId };
        await call('resendCallbackDelivery', { path, body: { client_id: clientId, reason } });
        return say(RESENT);
      }}
    />
  );
}

/** Everything that happened, drawn over time and told in its order. */
export function Timeline({
  entries,
  transaction,
  onResent,
}: {
  readonly entries: readonly TimelineEntry[];
  readonly transaction: OperatorTransaction;
  readonly onResent: () => void;
}) {
  return (
    <>
      <TimelineDrawing entries={entries} transaction={transaction} now={Date.now()} />
      <ol class="timeline">
        {entries.map((entry, index) => (
          <li key={`${entry.at} ${index}`} class={`entry ${entry.kind}`}>
            <Time at={entry.at} focusable />
            <span class="kind">{say(KIND_TEXTS[entry.kind] ?? { en: entry.kind, id: entry.kind })}</span>
            <span class="what">
              {withLocalTimes(entryText(entry), language.value, new Date())}{' '}
              <ResendEntry {...{ entry, transaction, onResent }} />
            </span>
          </li>
        ))}
      </ol>
    </>
  );
}

function ResendEntry({
  entry,
  transaction,
  onResent,
}: {
  readonly entry: TimelineEntry;
  readonly transaction: OperatorTransaction;
  readonly onResent: () => void;
}) {
  const fact = (name: string): string | null => entry.facts.find((each) => each.name === name)?.value ?? null;
  const deliveryId = fact('delivery_id');
  if (entry.kind !== 'callback_delivery' || deliveryId === null || !may('resend')) return null;
  const about = `${fact('type') ?? transaction.transaction_id}, ${deliveryId}`;
  return <Resend clientId={transaction.client_id} deliveryId={deliveryId} about={about} onDone={onResent} />;
}
