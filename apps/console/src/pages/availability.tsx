import { call, given } from '../api/request.ts';
import { useResource } from '../api/resource.ts';
import { Facts } from '../components/facts.tsx';
import { Loaded, Page } from '../components/page.tsx';
import { Table } from '../components/table.tsx';
import { day, duration, figure, integer, time } from '../format.ts';
import type { BankAvailability, BankHour, BankHours } from '../generated/api.ts';
import { language, say, type Text } from '../preferences.ts';
import { address } from '../router.ts';
import { TEXTS } from '../texts.ts';

/** How banks have answered, hour by hour, over all processes. */

const WEEK: Text = { en: 'The last 7 days', id: '7 hari terakhir' };
const NINETY_DAYS: Text = { en: 'The last 90 days', id: '90 hari terakhir' };
const NO_HOURS: Text = {
  en: 'No bank was asked in these days.',
  id: 'Tidak ada bank yang ditanya pada hari-hari ini.',
};
const ANSWERED: Text = { en: 'Answered', id: 'Dijawab' };
const DOWN_FOR: Text = { en: 'Down for', id: 'Gangguan selama' };
const INQUIRIES: Text = { en: 'Inquiries', id: 'Pertanyaan' };
const HOURS: Text = { en: 'Hour by hour', id: 'Jam demi jam' };
const MEDIAN: Text = { en: 'Median', id: 'Median' };
const SLOW: Text = { en: '95 %', id: '95 %' };
const REASONS: Text = { en: 'Reasons', id: 'Sebab' };
const CELL: Text = {
  en: '{hour}: {answered} of {inquiries} answered, down for {down} min',
  id: '{hour}: {answered} dari {inquiries} dijawab, gangguan {down} mnt',
};
const SUMMARY: Text = {
  en: 'Availability of {bank} by hour: {share} answered',
  id: 'Ketersediaan {bank} per jam: {share} dijawab',
};
const LEGEND = [
  { tone: 'good', text: { en: 'at least 99 % answered', id: 'minimal 99 % dijawab' } },
  { tone: 'warn', text: { en: 'at least 90 %', id: 'minimal 90 %' } },
  { tone: 'bad', text: { en: 'less, or down', id: 'kurang, atau gangguan' } },
  { tone: 'calm', text: { en: 'not asked', id: 'tidak ditanya' } },
] as const;

const HOUR_MS = 60 * 60 * 1_000;
const HOURS_PER_DAY = 24;
const POLL_MS = 60_000;
const WEEK_DAYS = 7;
const DAYS_MAX = 90;

const percent = (share: number | null): string => (share === null ? '–' : `${figure(share * 100, language.value)} %`);
const milliseconds = (ms: number | null): string => (ms === null ? '–' : duration(ms, language.value));

function toneOf({ answered_share: share, minutes_down: down }: BankHour): 'good' | 'warn' | 'bad' | 'calm' {
  if (down >= 1 || (share !== null && share < 0.9)) return 'bad';
  if (share === null) return 'calm';
  return share < 0.99 ? 'warn' : 'good';
}

/** The banks of the last days below each other. */
export function WeekOfBanks() {
  const read = useResource(
    'availability',
    (signal) => call('readBankAvailability', { query: { days: WEEK_DAYS } }, signal),
    POLL_MS,
  );
  return (
    <section>
      <h2>{say(WEEK)}</h2>
      <Loaded resource={read}>
        {(data) => (
          <>
            <Table<BankHours>
              caption={say(WEEK)}
              rows={data.banks}
              keyOf={(each) => each.bank_code + each.bic}
              empty={say(NO_HOURS)}
              columns={[
                {
                  title: say(TEXTS.bank),
                  cell: (each) => <a href={address(['banks', each.bic ?? each.bank_code])}>{each.bank_name}</a>,
                },
                { title: say(HOURS), cell: (each) => <Strip bank={each} range={data} /> },
                { title: say(ANSWERED), isNumber: true, cell: (each) => percent(each.total.answered_share) },
                { title: say(DOWN_FOR), isNumber: true, cell: (each) => minutes(each.total.minutes_down) },
                {
                  title: say(INQUIRIES),
                  isNumber: true,
                  cell: (each) => integer(each.total.inquiries, language.value),
                },
                { title: say(MEDIAN), isNumber: true, cell: (each) => milliseconds(each.total.p50_ms) },
                { title: say(SLOW), isNumber: true, cell: (each) => milliseconds(each.total.p95_ms) },
              ]}
            />
            {data.banks.length > 0 && <Legend />}
          </>
        )}
      </Loaded>
    </section>
  );
}

const minutes = (count: number): string => (count === 0 ? '–' : duration(count * 60_000, language.value));

function Legend() {
  return (
    <p class="legend small">
      {LEGEND.map(({ tone, text }) => (
        <span key={tone}>
          <span class={`swatch ${tone}`} /> {say(text)}
        </span>
      ))}
    </p>
  );
}

/** Each hour is as wide as the others; an hour that the service left out stays empty. */
function Strip({ bank, range }: { readonly bank: BankHours; readonly range: BankAvailability }) {
  const startMs = Date.parse(range.from);
  const count = Math.max(Math.ceil((Date.parse(range.to) - startMs) / HOUR_MS), 1);
  const label = say(SUMMARY, { bank: bank.bank_name, share: percent(bank.total.answered_share) });
  return (
    <svg class="strip" width="100%" height="18" role="img" aria-label={label}>
      <rect width="100%" height="18" class="calm" />
      {bank.hours.map((hour) => (
        <rect
          key={hour.hour}
          x={`${(((Date.parse(hour.hour) - startMs) / HOUR_MS) * 100) / count}%`}
          width={`${100 / count}%`}
          height="18"
          class={toneOf(hour)}
        >
          <title>{cellText(hour)}</title>
        </rect>
      ))}
    </svg>
  );
}

const cellText = ({ hour, answered, inquiries, minutes_down: down }: BankHour): string =>
  say(CELL, { hour: time(hour, language.value, new Date()), answered, inquiries, down });

/** Ninety days of one bank: a row for each day, a column for each of its hours in the zone of the browser. */
export function BankPage({ code }: { readonly code: string }) {
  const read = useResource(
    `availability ${code}`,
    (signal) => call('readBankAvailability', { query: given({ bank: code, days: DAYS_MAX }) }, signal),
    POLL_MS,
  );
  const bank = read.data?.banks[0] ?? null;
  return (
    <Page title={bank?.bank_name ?? code} lead={say(NINETY_DAYS)}>
      <Loaded resource={read}>
        {({ banks: [found] }) => (found === undefined ? <p class="empty">{say(NO_HOURS)}</p> : <Days bank={found} />)}
      </Loaded>
    </Page>
  );
}

const HOURS_MARKED = [0, 6, 12, 18];
const ROW_PX = 14;
const LABEL_PERCENT = 16;

function Days({ bank }: { readonly bank: BankHours }) {
  const { total } = bank;
  const dayOf = (hour: string): string => new Date(hour).toDateString();
  const days = [...new Set(bank.hours.map(({ hour }) => dayOf(hour)))].toReversed();
  const width = (100 - LABEL_PERCENT) / HOURS_PER_DAY;
  const label = say(SUMMARY, { bank: bank.bank_name, share: percent(total.answered_share) });
  return (
    <>
      <Facts
        facts={[
          [ANSWERED, percent(total.answered_share)],
          [DOWN_FOR, minutes(total.minutes_down)],
          [INQUIRIES, integer(total.inquiries, language.value)],
          [MEDIAN, milliseconds(total.p50_ms)],
          [SLOW, milliseconds(total.p95_ms)],
          [
            REASONS,
            total.reasons.map(({ reason, times }) => `${reason} × ${integer(times, language.value)}`).join(', ') || '–',
          ],
        ]}
      />
      <h2>{say(HOURS)}</h2>
      <figure class="drawing">
        <svg width="100%" height={(days.length + 1) * ROW_PX} role="img" aria-label={label}>
          {HOURS_MARKED.map((hour) => (
            <text key={hour} x={`${LABEL_PERCENT + hour * width}%`} y="11" class="tick">
              {hour}:00
            </text>
          ))}
          {days.map((each, row) => (
            <g key={each}>
              <text x="0" y={(row + 1) * ROW_PX + 11} class="tick">
                {day(each, language.value)}
              </text>
              <rect
                x={`${LABEL_PERCENT}%`}
                y={(row + 1) * ROW_PX}
                width={`${100 - LABEL_PERCENT}%`}
                height={ROW_PX - 2}
                class="calm"
              />
            </g>
          ))}
          {bank.hours.map((hour) => (
            <rect
              key={hour.hour}
              x={`${LABEL_PERCENT + new Date(hour.hour).getHours() * width}%`}
              y={(days.indexOf(dayOf(hour.hour)) + 1) * ROW_PX}
              width={`${width}%`}
              height={ROW_PX - 2}
              class={toneOf(hour)}
            >
              <title>{cellText(hour)}</title>
            </rect>
          ))}
        </svg>
        <Legend />
      </figure>
    </>
  );
}
