import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { call } from '../api/request.ts';
import { useResource } from '../api/resource.ts';
import { Chart } from '../components/chart.tsx';
import { isTrouble } from '../components/endpoint-health.ts';
import { Loaded, Page } from '../components/page.tsx';
import { Table } from '../components/table.tsx';
import { Time } from '../components/values.tsx';
import { duration, figure, integer } from '../format.ts';
import type { Backlog, Overview } from '../generated/api.ts';
import { language, say, type Text } from '../preferences.ts';
import { calledIn, isNoAnswer, type Rate, ratesBetween, together } from '../rates.ts';
import { address } from '../router.ts';
import { TEXTS } from '../texts.ts';

const LEAD: Text = {
  en: 'What needs a person, and what the service does now: read every 5 seconds while you look.',
  id: 'Yang perlu ditangani, dan yang dikerjakan layanan saat ini: dibaca tiap 5 detik selama Anda melihat.',
};
const NEEDS: Text = { en: 'Needs a person', id: 'Perlu ditangani' };
const PENDING: Text = { en: 'Callbacks waiting', id: 'Callback menunggu' };
const OLDEST: Text = { en: 'oldest due for {time}', id: 'terlama menunggu {time}' };
const BANKS_DOWN: Text = { en: 'Banks down', id: 'Bank gangguan' };
const ROWS: Text = { en: 'Accounts in bulk checks', id: 'Rekening cek massal' };
const REQUESTS: Text = { en: 'Requests of clients', id: 'Permintaan klien' };
const INQUIRIES: Text = { en: 'Inquiries at banks', id: 'Pertanyaan ke bank' };
const ATTEMPTS: Text = { en: 'Callback attempts', id: 'Percobaan callback' };
const PER_SECOND: Text = { en: 'per second', id: 'per detik' };
const FAILED: Text = { en: 'failed', id: 'gagal' };
const PER_SECOND_TITLE: Text = { en: 'Per second', id: 'Per detik' };
const FAILED_TITLE: Text = { en: 'Failed', id: 'Gagal' };
const MEASURING: Text = {
  en: 'Measuring: the first figures come in 5 seconds.',
  id: 'Mengukur: angka pertama dalam 5 detik.',
};
const OPERATION: Text = { en: 'Operation', id: 'Operasi' };
const QUIET: Text = {
  en: 'No client has called while you looked.',
  id: 'Tidak ada klien yang memanggil selama Anda melihat.',
};
const NOTHING_MEASURED: Text = { en: 'none in the last seconds', id: 'tidak ada dalam detik terakhir' };
const SLOWEST: Text = { en: '{p50} median, {p99} at 99 %', id: '{p50} median, {p99} pada 99 %' };

const POLL_MS = 5_000;
const ENDPOINTS_POLL_MS = 15_000;
const ENDPOINTS_MAX = 100;
/** Ten minutes. */
const READINGS_MAX = 120;
/** A minute: so that the first readings can be seen. */
const READINGS_SHOWN_MIN = 12;

/** What is shown between two readings. */
interface Sample {
  readonly routes: readonly Rate[];
  readonly requests: Omit<Rate, 'subject'>;
  readonly inquiries: Omit<Rate, 'subject'>;
  readonly callbacks: Omit<Rate, 'subject'>;
}

const isServerError = (status: string): boolean => status.startsWith('5');
const isUndelivered = (outcome: string): boolean => outcome !== 'delivered';

/** Null for the first reading, and after one of another process. */
function sampleBetween(before: Overview | null, after: Overview): Sample | null {
  if (before === null || before.source !== after.source) return null;
  const seconds = (Date.parse(after.at) - Date.parse(before.at)) / 1_000;
  if (seconds <= 0) return null;
  const routes = ratesBetween(before.requests, after.requests, seconds, isServerError);
  const accounts = ratesBetween(before.account_inquiries, after.account_inquiries, seconds, isNoAnswer);
  const statuses = ratesBetween(before.status_inquiries, after.status_inquiries, seconds, isNoAnswer);
  const callbacks = ratesBetween(before.callbacks, after.callbacks, seconds, isUndelivered);
  if (routes === null || accounts === null || statuses === null || callbacks === null) return null;
  return {
    routes,
    requests: together(routes),
    inquiries: together([...accounts, ...statuses]),
    callbacks: together(callbacks),
  };
}

export function OverviewPage() {
  const readings = useRef<{ latest: Overview | null; samples: Sample[] }>({ latest: null, samples: [] });
  const read = useResource(
    'overview',
    async (signal) => {
      const overview = await call('readOverview', {}, signal);
      const { latest, samples } = readings.current;
      if (latest?.at !== overview.at) {
        const sample = sampleBetween(latest, overview);
        readings.current = {
          latest: overview,
          samples: sample === null ? samples : [...samples, sample].slice(-READINGS_MAX),
        };
      }
      return { overview, samples: readings.current.samples };
    },
    POLL_MS,
  );
  return (
    <Page
      title={say(TEXTS.overview)}
      lead={say(LEAD)}
      aside={read.data === null ? null : <Time at={read.data.overview.at} withDay />}
    >
      <Loaded resource={read}>
        {({ overview, samples }) => (
          <>
            <h2>{say(NEEDS)}</h2>
            <BacklogTiles backlog={overview.backlog} banksDown={overview.banks_down} />
            <Live samples={samples} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function BacklogTiles({ backlog, banksDown }: { readonly backlog: Backlog; readonly banksDown: number }) {
  const count = (value: number | null): string => (value === null ? '–' : integer(value, language.value));
  const oldest = backlog.oldest_callback_seconds ?? 0;
  return (
    <ul class="tiles">
      <Tile
        title={say(TEXTS.overdue)}
        value={count(backlog.overdue)}
        href={address(['overdue'])}
        alarm={backlog.overdue}
      />
      <Tile
        title={say(TEXTS.reviews)}
        value={count(backlog.reviews)}
        href={address(['reviews'])}
        alarm={backlog.reviews}
      />
      <Tile
        title={say(BANKS_DOWN)}
        value={integer(banksDown, language.value)}
        href={address(['banks'])}
        alarm={banksDown}
      />
      <ReceiversTile />
      <Tile title={say(PENDING)} value={count(backlog.callbacks_pending)} href={address(['callbacks'])} alarm={null}>
        {oldest >= 1 && say(OLDEST, { time: duration(oldest * 1_000, language.value) })}
      </Tile>
      <Tile title={say(ROWS)} value={count(backlog.validation_rows)} href={address(['validations'])} alarm={null} />
    </ul>
  );
}

/** What was disabled on purpose is counted, and raises no alarm. */
function ReceiversTile() {
  const { data } = useResource(
    'endpoints',
    (signal) => call('listUnhealthyCallbackEndpoints', { query: { limit: ENDPOINTS_MAX } }, signal),
    ENDPOINTS_POLL_MS,
  );
  const endpoints = data?.endpoints ?? [];
  const count = integer(endpoints.length, language.value);
  return (
    <Tile
      title={say(TEXTS.receiversInTrouble)}
      value={data === null ? '–' : data.has_more ? `> ${count}` : count}
      href={address(['callbacks'])}
      alarm={endpoints.filter(isTrouble).length}
    />
  );
}

function Tile({
  title,
  value,
  href,
  alarm,
  children,
}: {
  readonly title: string;
  readonly value: string;
  readonly href: string;
  /** Above 0 the tile asks for attention. */
  readonly alarm: number | null;
  readonly children?: ComponentChildren;
}) {
  return (
    <li>
      <a class={`tile ${(alarm ?? 0) > 0 ? 'attention' : ''}`} href={href}>
        <span class="muted">{title}</span>
        <strong>{value}</strong>
        <span class="small">{children}</span>
      </a>
    </li>
  );
}

function Live({ samples }: { readonly samples: readonly Sample[] }) {
  const latest = samples.at(-1);
  if (latest === undefined) return <p class="empty">{say(MEASURING)}</p>;
  return (
    <>
      <div class="panels">
        <Panel title={say(REQUESTS)} rate={latest.requests} rates={samples.map((each) => each.requests)} />
        <Panel title={say(INQUIRIES)} rate={latest.inquiries} rates={samples.map((each) => each.inquiries)} />
        <Panel title={say(ATTEMPTS)} rate={latest.callbacks} rates={samples.map((each) => each.callbacks)} />
      </div>
      <h2>{say(REQUESTS)}</h2>
      <Routes routes={calledIn(samples.map(({ routes }) => routes))} />
    </>
  );
}

const percent = (share: number): string => `${figure(share * 100, language.value)} %`;
const timeText = (ms: number | null): string => (ms === null ? '–' : ms < 1 ? '< 1 ms' : duration(ms, language.value));

function Panel({
  title,
  rate,
  rates,
}: {
  readonly title: string;
  readonly rate: Omit<Rate, 'subject'>;
  readonly rates: readonly Omit<Rate, 'subject'>[];
}) {
  return (
    <section class="panel">
      <h3>{title}</h3>
      <p>
        <strong class="number">{figure(rate.perSecond, language.value)}</strong> {say(PER_SECOND)} ·{' '}
        <span class={rate.failureShare > 0 ? 'bad-text' : 'muted'}>
          {percent(rate.failureShare)} {say(FAILED)}
        </span>
        <span class="below">
          {rate.p50Ms === null
            ? say(NOTHING_MEASURED)
            : say(SLOWEST, { p50: timeText(rate.p50Ms), p99: timeText(rate.p99Ms) })}
        </span>
      </p>
      <Chart
        readingsMax={Math.max(rates.length, READINGS_SHOWN_MIN)}
        series={[
          { title: say(PER_SECOND), tone: 'busy', values: rates.map(({ perSecond }) => perSecond) },
          { title: say(FAILED), tone: 'bad', values: rates.map((each) => each.perSecond * each.failureShare) },
        ]}
      />
    </section>
  );
}

function Routes({ routes }: { readonly routes: readonly Rate[] }) {
  return (
    <Table
      caption={say(REQUESTS)}
      rows={routes}
      keyOf={(each) => each.subject}
      empty={say(QUIET)}
      columns={[
        { title: say(OPERATION), cell: (each) => <code>{each.subject.replace('/api/v1/', '')}</code> },
        { title: say(PER_SECOND_TITLE), isNumber: true, cell: (each) => figure(each.perSecond, language.value) },
        {
          title: say(FAILED_TITLE),
          isNumber: true,
          cell: (each) => (each.perSecond === 0 ? '–' : percent(each.failureShare)),
        },
        { title: '50 %', isNumber: true, cell: (each) => timeText(each.p50Ms) },
        { title: '95 %', isNumber: true, cell: (each) => timeText(each.p95Ms) },
        { title: '99 %', isNumber: true, cell: (each) => timeText(each.p99Ms) },
      ]}
    />
  );
}
