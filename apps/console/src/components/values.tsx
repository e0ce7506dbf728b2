import { useState } from 'preact/hooks';
import { dayAndTime, money, time, utc } from '../format.ts';
import { language, say, type Text } from '../preferences.ts';
import { address } from '../router.ts';
import { TEXTS } from '../texts.ts';

/** A time in the zone of the browser; UTC is shown on hover and, where it can have the focus, on focus. */
export function Time({
  at,
  focusable = false,
  withDay = false,
}: {
  readonly at: string | null;
  readonly focusable?: boolean;
  /** Also where it is today: in a range, the time alone could be of the other day. */
  readonly withDay?: boolean;
}) {
  if (at === null) return <span class="muted">–</span>;
  return (
    <time dateTime={at} data-utc={utc(at)} {...(focusable ? { tabIndex: 0, 'aria-label': spoken(at) } : {})}>
      {withDay ? dayAndTime(at, language.value, new Date()) : time(at, language.value, new Date())}
    </time>
  );
}

const spoken = (at: string): string => `${time(at, language.value, new Date())} (${utc(at)})`;

export function Money({ amount, currency }: { readonly amount: string; readonly currency: string }) {
  return <span class="number">{money(amount, currency, language.value)}</span>;
}

type Tone = 'good' | 'bad' | 'warn' | 'busy' | 'calm';

/** A state: its color repeats what its text says. */
export function Chip({ tone, text }: { readonly tone: Tone; readonly text: string }) {
  return <span class={`chip ${tone}`}>{text}</span>;
}

const STATUS_TEXTS = {
  PROCESS: { tone: 'busy', text: { en: 'In process', id: 'Diproses' } },
  SUCCESS: { tone: 'good', text: { en: 'Success', id: 'Berhasil' } },
  FAILED: { tone: 'bad', text: { en: 'Failed', id: 'Gagal' } },
} as const satisfies Record<string, { readonly tone: Tone; readonly text: Text }>;

const OVERDUE: Text = { en: 'Overdue', id: 'Terlambat' };
const REVERSED: Text = { en: 'Returned', id: 'Dikembalikan' };

export function Status({
  status,
  overdueSince = null,
  reversedAt = null,
}: {
  readonly status: keyof typeof STATUS_TEXTS;
  readonly overdueSince?: string | null;
  readonly reversedAt?: string | null;
}) {
  const { tone, text } = STATUS_TEXTS[status];
  return (
    <span class="chips">
      <Chip tone={tone} text={say(text)} />
      {status === 'PROCESS' && overdueSince !== null && <Chip tone="warn" text={say(OVERDUE)} />}
      {reversedAt !== null && <Chip tone="warn" text={say(REVERSED)} />}
    </span>
  );
}

export function TransactionLink({ clientId, id }: { readonly clientId: string; readonly id: string }) {
  return (
    <a class="mono id" href={address(['transactions', id], { client_id: clientId })}>
      {id}
    </a>
  );
}

/** Absent where the browser has no clipboard: on a page without TLS. */
export function Copy({ text, label }: { readonly text: string; readonly label?: string }) {
  const [copied, setCopied] = useState(false);
  const clipboard = navigator.clipboard as Clipboard | undefined;
  if (clipboard === undefined) return null;
  const copy = (): void => void clipboard.writeText(text).then(() => setCopied(true));
  return (
    <button type="button" class="quiet" onClick={copy} aria-label={`${say(TEXTS.copy)} ${label ?? text}`}>
      {say(copied ? TEXTS.copied : TEXTS.copy)}
    </button>
  );
}

export function Progress({
  value,
  max,
  text,
}: {
  readonly value: number;
  readonly max: number;
  readonly text: string;
}) {
  return (
    <span class="progress">
      <progress value={value} max={max} aria-label={text} />
      {text}
    </span>
  );
}
