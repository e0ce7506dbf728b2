import { call } from '../api/request.ts';
import { useResource } from '../api/resource.ts';
import { Loaded, Page } from '../components/page.tsx';
import { Table } from '../components/table.tsx';
import { Chip, Time } from '../components/values.tsx';
import { duration, integer } from '../format.ts';
import type { Rail, RailBank } from '../generated/api.ts';
import { language, say, type Text } from '../preferences.ts';
import { TEXTS } from '../texts.ts';
import { WeekOfBanks } from './availability.tsx';

const LEAD: Text = {
  en: 'Which bank does not answer, and how fast the others do. Below: each rail as the answering process sees it.',
  id: 'Bank mana yang tidak menjawab, dan secepat apa yang lain. Di bawah: tiap rail menurut proses yang menjawab.',
};
const DOWN_NOW: Text = { en: 'Down now', id: 'Sedang gangguan' };
const NONE_DOWN: Text = { en: 'No bank is down.', id: 'Tidak ada bank yang gangguan.' };
const NO_BANKS: Text = { en: 'No bank was asked yet.', id: 'Belum ada bank yang ditanya.' };
const BREAKERS = {
  closed: { tone: 'good', text: { en: 'Answers', id: 'Menjawab' } },
  half_open: { tone: 'warn', text: { en: 'Being tried', id: 'Sedang dicoba' } },
  open: { tone: 'bad', text: { en: 'Down', id: 'Gangguan' } },
} as const;
const SILENT = { tone: 'warn', text: { en: 'No answer so far', id: 'Belum ada jawaban' } } as const;
const ORDER = ['open', 'half_open', 'closed'];

/** A breaker stays closed over the first failures: a bank that has not answered yet does not answer. */
const stateOf = ({ breaker, recent, no_verdicts: noVerdicts }: RailBank) =>
  breaker === 'closed' && recent.answers === 0 && noVerdicts.length > 0 ? SILENT : BREAKERS[breaker];
const IN_FLIGHT: Text = { en: 'Waiting', id: 'Menunggu' };
const NO_VERDICTS: Text = { en: 'No verdict', id: 'Tanpa jawaban' };
const ANSWERS: Text = { en: 'Answers', id: 'Jawaban' };
const MEDIAN: Text = { en: 'Median', id: 'Median' };
const SLOW: Text = { en: '95 %', id: '95 %' };
const NEXT_TRY: Text = { en: 'next try in {time}', id: 'dicoba lagi dalam {time}' };
const QUOTA: Text = {
  en: 'quota left: {second} this second, {day} today',
  id: 'sisa kuota: {second} detik ini, {day} hari ini',
};
const UNLIMITED: Text = { en: 'no limit', id: 'tanpa batas' };

const POLL_MS = 5_000;

export function BanksPage() {
  const read = useResource('rails', (signal) => call('listRails', {}, signal), POLL_MS);
  return (
    <Page title={say(TEXTS.banks)} lead={say(LEAD)}>
      {read.data !== null && <DownNow rails={read.data.rails} />}
      <WeekOfBanks />
      <Loaded resource={read}>{({ rails }) => rails.map((rail) => <RailBanks key={rail.name} rail={rail} />)}</Loaded>
    </Page>
  );
}

/** Those that no rail reaches, as the overview counts them. */
function DownNow({ rails }: { readonly rails: readonly Rail[] }) {
  const banks = rails.flatMap((rail) => rail.banks);
  const isDown = ({ bank_name: name }: RailBank): boolean =>
    banks.every((each) => each.bank_name !== name || each.breaker === 'open');
  const down = new Map(banks.filter(isDown).map((each) => [each.bank_name, each]));
  if (down.size === 0) return <p>{say(NONE_DOWN)}</p>;
  return (
    <ul class="down">
      {[...down.values()].map((each) => (
        <li key={each.bank_name}>
          <Chip tone="bad" text={say(DOWN_NOW)} /> <strong>{each.bank_name}</strong>{' '}
          <span class="muted">
            {say(TEXTS.since)} <Time at={each.breaker_since} />
          </span>
        </li>
      ))}
    </ul>
  );
}

function RailBanks({ rail }: { readonly rail: Rail }) {
  const left = (value: number | null): string => (value === null ? say(UNLIMITED) : integer(value, language.value));
  const byState = rail.banks.toSorted((one, other) => ORDER.indexOf(one.breaker) - ORDER.indexOf(other.breaker));
  return (
    <section>
      <h2>
        {rail.name}{' '}
        <small class="muted">
          {say(QUOTA, { second: left(rail.quota_left.second), day: left(rail.quota_left.day) })}
        </small>
      </h2>
      <Table<RailBank>
        caption={rail.name}
        rows={byState}
        keyOf={(each) => each.bank_code + each.bic}
        empty={say(NO_BANKS)}
        columns={[
          {
            title: say(TEXTS.bank),
            cell: (each) => (
              <>
                {each.bank_name}
                <span class="below mono">{[each.bank_code, each.bic].filter(Boolean).join(' · ')}</span>
              </>
            ),
          },
          {
            title: say(TEXTS.state),
            cell: (each) => (
              <>
                <Chip tone={stateOf(each).tone} text={say(stateOf(each).text)} />
                {each.next_inquiry_in_seconds > 0 && (
                  <span class="below">
                    {say(NEXT_TRY, { time: duration(each.next_inquiry_in_seconds * 1000, language.value) })}
                  </span>
                )}
              </>
            ),
          },
          { title: say(TEXTS.since), isNumber: true, cell: (each) => <Time at={each.breaker_since} /> },
          { title: say(ANSWERS), isNumber: true, cell: (each) => integer(each.recent.answers, language.value) },
          { title: say(MEDIAN), isNumber: true, cell: (each) => milliseconds(each.recent.p50_ms) },
          { title: say(SLOW), isNumber: true, cell: (each) => milliseconds(each.recent.p95_ms) },
          { title: say(IN_FLIGHT), isNumber: true, cell: (each) => integer(each.in_flight, language.value) },
          {
            title: say(NO_VERDICTS),
            cell: (each) =>
              each.no_verdicts.length === 0
                ? '–'
                : each.no_verdicts.map(({ reason, rail_code: code, times }) => (
                    <span class="below" key={reason + code}>
                      {reason}
                      {code === null ? '' : ` (${code})`} × {integer(times, language.value)}
                    </span>
                  )),
          },
        ]}
      />
    </section>
  );
}

const milliseconds = (ms: number | null): string => (ms === null ? '–' : duration(ms, language.value));
