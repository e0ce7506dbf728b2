import { call, given } from '../api/request.ts';
import { useResource } from '../api/resource.ts';
import { may } from '../api/session.ts';
import { Loaded, Page } from '../components/page.tsx';
import { Pager, Table } from '../components/table.tsx';
import { Chip, Time, TransactionLink } from '../components/values.tsx';
import type { UndeliveredCallback, UndeliveredCallbackList, UnhealthyCallbackEndpoint } from '../generated/api.ts';
import { say, type Text } from '../preferences.ts';
import { address, place } from '../router.ts';
import { TEXTS } from '../texts.ts';
import { Resend } from './timeline.tsx';

const LEAD: Text = {
  en: 'What was not delivered. Given up: every attempt failed, and it is sent again only by a person or the client.',
  id: 'Yang belum terkirim. Berhenti: semua percobaan gagal, dan hanya dikirim ulang oleh orang atau klien.',
};
const ALL_CLIENTS: Text = { en: 'All clients', id: 'Semua klien' };
const UNDELIVERED: Text = { en: 'Not delivered', id: 'Belum terkirim' };
const NOTHING: Text = { en: 'Everything was delivered.', id: 'Semua sudah terkirim.' };
const NOTHING_HERE: Text = { en: 'None with this filter.', id: 'Tidak ada dengan saringan ini.' };
const ENDPOINTS: Text = { en: 'Receivers in trouble', id: 'Penerima bermasalah' };
const NO_ENDPOINTS: Text = {
  en: 'No receiver is failing or disabled.',
  id: 'Tidak ada penerima yang gagal atau nonaktif.',
};
const NEXT_ATTEMPT: Text = { en: 'Next attempt', id: 'Percobaan berikut' };
const CONCERNS: Text = { en: 'Concerns', id: 'Tentang' };
const FAILING_SINCE: Text = { en: 'Failing since', id: 'Gagal sejak' };

const STATES = {
  exhausted: { tone: 'bad', text: { en: 'Given up', id: 'Berhenti' } },
  pending: { tone: 'warn', text: { en: 'Retrying', id: 'Mencoba lagi' } },
} as const;

const HEALTH = {
  failing: { tone: 'warn', text: { en: 'Failing', id: 'Gagal' } },
  disabled: { tone: 'bad', text: { en: 'Disabled', id: 'Nonaktif' } },
} as const;

const POLL_MS = 15_000;
const PAGE_SIZE = 50;

export function CallbacksPage() {
  const { query } = place.value;
  const state = (['exhausted', 'pending'] as const).find((each) => each === query.get('state')) ?? null;
  const filter = { state, client_id: query.get('client_id') };
  const cursor = query.get('cursor');
  const read = useResource(
    `callbacks ${state} ${filter.client_id} ${cursor}`,
    (signal) => call('listUndeliveredCallbacks', { query: given({ ...filter, cursor, limit: PAGE_SIZE }) }, signal),
    POLL_MS,
  );
  return (
    <Page title={say(TEXTS.callbacks)} lead={say(LEAD)}>
      <nav class="tabs" aria-label={say(TEXTS.state)}>
        {([null, 'exhausted', 'pending'] as const).map((each) => (
          <a
            key={each}
            href={address(['callbacks'], { ...filter, state: each })}
            aria-current={state === each ? 'page' : undefined}
          >
            {say(each === null ? TEXTS.all : STATES[each].text)}
          </a>
        ))}
      </nav>
      {filter.client_id !== null && (
        <p class="filters">
          <span class="filter">
            <span class="muted">{say(TEXTS.client)}</span> {filter.client_id}
          </span>
          <a href={address(['callbacks'], { state })}>{say(ALL_CLIENTS)}</a>
        </p>
      )}
      <h2>{say(UNDELIVERED)}</h2>
      <Loaded resource={read}>
        {(data) => <Deliveries data={data} filter={filter} cursor={cursor} onResent={read.reload} />}
      </Loaded>
      <Endpoints clientId={filter.client_id} />
    </Page>
  );
}

function Deliveries({
  data,
  filter,
  cursor,
  onResent,
}: {
  readonly data: UndeliveredCallbackList;
  readonly filter: Readonly<Record<string, string | null>>;
  readonly cursor: string | null;
  readonly onResent: () => void;
}) {
  const next = data.next_cursor;
  return (
    <>
      <Table
        caption={say(UNDELIVERED)}
        rows={data.deliveries}
        keyOf={(each) => `${each.client_id} ${each.delivery_id}`}
        empty={say(filter['state'] === null && filter['client_id'] === null ? NOTHING : NOTHING_HERE)}
        columns={[
          {
            title: say(TEXTS.state),
            cell: (each) => <Chip tone={STATES[each.state].tone} text={say(STATES[each.state].text)} />,
          },
          { title: say(CONCERNS), cell: (each) => <Subject delivery={each} /> },
          {
            title: say(TEXTS.client),
            cell: (each) => (
              <>
                <a href={address(['clients', each.client_id])}>{each.client_id}</a>
                <span class="below">{each.origin}</span>
              </>
            ),
          },
          { title: say(TEXTS.attempts), isNumber: true, cell: (each) => each.attempt_count },
          { title: say(TEXTS.since), isNumber: true, cell: (each) => <Time at={each.occurred_at} /> },
          { title: say(NEXT_ATTEMPT), isNumber: true, cell: (each) => <Time at={each.next_attempt_at} /> },
          ...(may('resend')
            ? [
                {
                  title: say(TEXTS.action),
                  cell: (each: UndeliveredCallback) => (
                    <Resend
                      clientId={each.client_id}
                      deliveryId={each.delivery_id}
                      about={`${each.type ?? ''} ${each.subject_id ?? each.delivery_id} → ${each.origin}`.trim()}
                      onDone={onResent}
                    />
                  ),
                },
              ]
            : []),
        ]}
      />
      <Pager
        next={next === null ? null : address(['callbacks'], { ...filter, cursor: next })}
        first={cursor === null ? null : address(['callbacks'], filter)}
      />
    </>
  );
}

/** Most are about a transaction; the others about a bank or a bulk validation. */
function Subject({
  delivery: { client_id: clientId, subject_id: id, type },
}: {
  readonly delivery: UndeliveredCallback;
}) {
  const isTransaction = type?.startsWith('disbursement.') === true;
  return (
    <>
      {isTransaction && id !== null ? <TransactionLink clientId={clientId} id={id} /> : (id ?? '–')}
      <span class="below">{type}</span>
    </>
  );
}

function Endpoints({ clientId }: { readonly clientId: string | null }) {
  const read = useResource(
    'endpoints',
    (signal) => call('listUnhealthyCallbackEndpoints', { query: { limit: 100 } }, signal),
    POLL_MS,
  );
  return (
    <>
      <h2>{say(ENDPOINTS)}</h2>
      <Loaded resource={read}>
        {({ endpoints }) => (
          <Table<UnhealthyCallbackEndpoint>
            caption={say(ENDPOINTS)}
            rows={endpoints.filter((each) => clientId === null || each.client_id === clientId)}
            keyOf={(each) => `${each.client_id} ${each.endpoint_id}`}
            empty={say(clientId === null ? NO_ENDPOINTS : NOTHING_HERE)}
            columns={[
              {
                title: say(TEXTS.state),
                cell: (each) => <Chip tone={HEALTH[each.status].tone} text={say(HEALTH[each.status].text)} />,
              },
              {
                title: say(TEXTS.client),
                cell: (each) => <a href={address(['clients', each.client_id])}>{each.client_id}</a>,
              },
              { title: say(TEXTS.receiver), cell: (each) => each.origin },
              { title: say(TEXTS.reason), cell: (each) => each.disabled_reason ?? '–' },
              { title: say(FAILING_SINCE), isNumber: true, cell: (each) => <Time at={each.failing_since} /> },
            ]}
          />
        )}
      </Loaded>
    </>
  );
}
