import { useState } from 'preact/hooks';
import { may } from '../api/session.ts';
import { Time } from '../components/values.tsx';
import { day, dayAndTime, time, withLocalTimes } from '../format.ts';
import type { OperatorTransaction, TimelineEntry } from '../generated/api.ts';
import { language, say, type Text } from '../preferences.ts';
import { Resend } from './resend.tsx';
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
  const [result, setResult] = useState('');
  const isOverDays = new Set(entries.map(({ at }) => day(at, language.value))).size > 1;
  const show = isOverDays ? dayAndTime : time;
  return (
    <>
      <TimelineDrawing entries={entries} transaction={transaction} now={Date.now()} />
      <output>{result !== '' && <p>{result}</p>}</output>
      <ol class="timeline">
        {entries.map((entry, index) => (
          <li key={`${entry.at} ${index}`} class={`entry ${entry.kind}`}>
            <Time at={entry.at} focusable withDay={isOverDays} />
            <span class="kind">{say(KIND_TEXTS[entry.kind] ?? { en: entry.kind, id: entry.kind })}</span>
            <span class="what">
              {withLocalTimes(entryText(entry), language.value, new Date(), { show })}{' '}
              <ResendEntry {...{ entry, transaction, onResent }} onResult={setResult} />
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
  onResult,
}: {
  readonly entry: TimelineEntry;
  readonly transaction: OperatorTransaction;
  readonly onResent: () => void;
  readonly onResult: (text: string) => void;
}) {
  const fact = (name: string): string | null => entry.facts.find((each) => each.name === name)?.value ?? null;
  const deliveryId = fact('delivery_id');
  if (entry.kind !== 'callback_delivery' || deliveryId === null || !may('resend')) return null;
  const about = `${fact('type') ?? transaction.transaction_id}, ${deliveryId}`;
  const { client_id: clientId, transaction_id: transactionId } = transaction;
  return <Resend {...{ clientId, deliveryId, transactionId, about, onResult }} onDone={onResent} />;
}
