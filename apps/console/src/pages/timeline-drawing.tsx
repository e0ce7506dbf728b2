import { duration, time, withLocalTimes } from '../format.ts';
import type { OperatorTransaction, TimelineEntry } from '../generated/api.ts';
import { language, say, type Text } from '../preferences.ts';

const LANES = [
  { kinds: ['created', 'event', 'account_check', 'operator_action'], text: { en: 'Order', id: 'Order' } },
  { kinds: ['status_update'], text: { en: 'Status', id: 'Status' } },
  { kinds: ['bank_inquiry'], text: { en: 'Bank', id: 'Bank' } },
  { kinds: ['callback_delivery', 'callback_attempt'], text: { en: 'Callback', id: 'Callback' } },
] as const satisfies readonly { readonly kinds: readonly string[]; readonly text: Text }[];

const LANE_PX = 26;
const TOP_PX = 30;
const HEIGHT_PX = TOP_PX + LANES.length * LANE_PX + 24;
/** The drawing lies between these, in percent of its width. The names of the lanes are at its left. */
const RIGHT = 97;
const leftPercent = (): number => (matchMedia('(width < 760px)').matches ? 24 : 12);

const SUMMARY: Text = {
  en: 'Drawn over time: {count} entries in {span}. The list below has each of them.',
  id: 'Digambar menurut waktu: {count} catatan dalam {span}. Daftar di bawah memuat semuanya.',
};
const EXPECTED: Text = { en: 'expected', id: 'batas' };
const NOW: Text = { en: 'now', id: 'kini' };

/** When each thing happened. Checks of the account before the order are in the list only: they may be days older. */
export function TimelineDrawing({
  entries,
  transaction,
  now,
}: {
  readonly entries: readonly TimelineEntry[];
  readonly transaction: OperatorTransaction;
  readonly now: number;
}) {
  const startMs = Date.parse(transaction.created_at);
  const shown = entries.filter(({ at }) => Date.parse(at) >= startMs);
  const isOpen = transaction.processed_at === null;
  const lastMs = Math.max(...shown.map(({ at }) => Date.parse(at)), isOpen ? now : 0, startMs + 1_000);
  const left = leftPercent();
  const x = (ms: number): number => left + ((RIGHT - left) * (ms - startMs)) / (lastMs - startMs);
  const endMs = transaction.processed_at === null ? now : Date.parse(transaction.processed_at);
  const span = duration(lastMs - startMs, language.value);
  return (
    <figure class="drawing">
      <svg width="100%" height={HEIGHT_PX} role="img" aria-label={say(SUMMARY, { count: entries.length, span })}>
        <Period transaction={transaction} x={x} endMs={endMs} lastMs={lastMs} />
        {LANES.map(({ kinds, text }, lane) => {
          const y = TOP_PX + lane * LANE_PX + LANE_PX / 2;
          const inLane: readonly string[] = kinds;
          return (
            <g key={text.en}>
              <text x="0" y={y + 4} class="lane">
                {say(text)}
              </text>
              <line x1={`${left}%`} x2={`${RIGHT}%`} y1={y} y2={y} class="axis" />
              {shown
                .filter(({ kind }) => inLane.includes(kind))
                .map((entry, index) => (
                  <Mark key={`${entry.at} ${index}`} entry={entry} x={x(Date.parse(entry.at))} y={y} />
                ))}
            </g>
          );
        })}
        <text x={`${left}%`} y={HEIGHT_PX - 6} class="tick">
          {time(transaction.created_at, language.value, new Date(now))}
        </text>
        <text x={`${RIGHT}%`} y={HEIGHT_PX - 6} class="tick" text-anchor="end">
          {isOpen && lastMs <= now ? `${say(NOW)}, +${span}` : `+${span}`}
        </text>
      </svg>
    </figure>
  );
}

type Scale = (ms: number) => number;

/** How long it was in process, and from when on it was overdue. */
function Period({
  transaction,
  x,
  endMs,
  lastMs,
}: {
  readonly transaction: OperatorTransaction;
  readonly x: Scale;
  readonly endMs: number;
  readonly lastMs: number;
}) {
  const startMs = Date.parse(transaction.created_at);
  // Of a final transaction only the time is known at which it was found to be late.
  const expectedBy = transaction.expected_by ?? transaction.overdue_since;
  const expectedMs = expectedBy === null ? Number.POSITIVE_INFINITY : Date.parse(expectedBy);
  const lateMs = Math.min(expectedMs, endMs);
  const isExpectedShown = expectedMs <= lastMs;
  const width = (from: number, to: number): string => `${Math.max(x(to) - x(from), 0)}%`;
  return (
    <g>
      <rect x={`${x(startMs)}%`} y={TOP_PX - 12} width={width(startMs, lateMs)} height="6" class="in-time" rx="2" />
      {endMs > expectedMs && (
        <rect x={`${x(expectedMs)}%`} y={TOP_PX - 12} width={width(expectedMs, endMs)} height="6" class="late" rx="2" />
      )}
      {isExpectedShown && (
        <>
          <line
            x1={`${x(expectedMs)}%`}
            x2={`${x(expectedMs)}%`}
            y1={TOP_PX - 14}
            y2={HEIGHT_PX - 22}
            class="expected"
          />
          <text x={`${x(expectedMs)}%`} y="11" class="tick" text-anchor={x(expectedMs) > RIGHT / 2 ? 'end' : 'start'}>
            {say(EXPECTED)}
          </text>
        </>
      )}
    </g>
  );
}

function Mark({ entry, x, y }: { readonly entry: TimelineEntry; readonly x: number; readonly y: number }) {
  return (
    <circle cx={`${x}%`} cy={y} r="5" class={toneOf(entry)}>
      <title>{withLocalTimes(language.value === 'en' ? entry.text : entry.text_id, language.value, new Date())}</title>
    </circle>
  );
}

/** The list says the same in words. */
function toneOf({ kind, facts }: TimelineEntry): string {
  const fact = (name: string): string | null => facts.find((each) => each.name === name)?.value ?? null;
  const httpStatus = fact('http_status');
  if (kind === 'callback_attempt') return httpStatus?.startsWith('2') === true ? 'good' : 'bad';
  if (kind === 'callback_delivery') return fact('state') === 'delivered' ? 'good' : 'warn';
  const status = fact('status');
  if (status === 'SUCCESS') return 'good';
  if (status === 'FAILED' || fact('outcome') === 'conflict') return 'bad';
  return fact('outcome') === 'overdue' ? 'warn' : 'busy';
}
