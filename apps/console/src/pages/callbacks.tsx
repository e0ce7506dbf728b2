import { useState } from 'preact/hooks';
import { call, given } from '../api/request.ts';
import { type Resource, useResource } from '../api/resource.ts';
import { may } from '../api/session.ts';
import { reasonText } from '../components/endpoint-health.ts';
import { Loaded, Page } from '../components/page.tsx';
import { Pager, Table } from '../components/table.tsx';
import { Chip, Time, TransactionLink } from '../components/values.tsx';
import type {
  UndeliveredCallback,
  UndeliveredCallbackList,
  UnhealthyCallbackEndpoint,
  UnhealthyCallbackEndpointList,
} from '../generated/api.ts';
import { say, type Text } from '../preferences.ts';
import { address, place } from '../router.ts';
import { TEXTS } from '../texts.ts';
import { Resend } from './resend.tsx';

const LEAD: Text = {
  en: 'What was not delivered. Given up: every attempt failed, and it is sent again only by a person or the client.',
  id: 'Yang belum terkirim. Berhenti: semua percobaan gagal, dan hanya dikirim ulang oleh orang atau klien.',
};
const ALL_CLIENTS: Text = { en: 'All clients', id: 'Semua klien' };
const UNDELIVERED: Text = { en: 'Not delivered', id: 'Belum terkirim' };
const NOTHING: Text = { en: 'Everything was delivered.', id: 'Semua sudah terkirim.' };
const NOTHING_HERE: Text = { en: 'None with this filter.', id: 'Tidak ada dengan saringan ini.' };
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

const HELD: Text = { en: 'Held', id: 'Ditahan' };
const ENDPOINT_DISABLED: Text = { en: 'the endpoint is disabled', id: 'endpoint nonaktif' };

const HEALTH = {
  failing: { tone: 'warn', text: { en: 'Failing', id: 'Gagal' } },
  disabled: { tone: 'bad', text: { en: 'Disabled', id: 'Nonaktif' } },
} as const;

const POLL_MS = 15_000;
const PAGE_SIZE = 50;
const ENDPOINTS_MAX = 100;

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
  const endpoints = useResource(
    'endpoints',
    (signal) => call('listUnhealthyCallbackEndpoints', { query: { limit: ENDPOINTS_MAX } }, signal),
    POLL_MS,
  );
  const isHeld = ({ client_id: clientId, delivery_id: id, state: deliveryState }: UndeliveredCallback): boolean =>
    deliveryState === 'pending' &&
    endpoints.data?.endpoints.some(
      (each) => each.status === 'disabled' && each.client_id === clientId && id.startsWith(`${each.endpoint_id}-`),
    ) === true;
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
        {(data) => <Deliveries {...{ data, filter, cursor, isHeld }} onResent={read.reload} />}
      </Loaded>
      <Endpoints read={endpoints} clientId={filter.client_id} />
    </Page>
  );
}

function Deliveries({
  data,
  filter,
  cursor,
  isHeld,
  onResent,
}: {
  readonly data: UndeliveredCallbackList;
  readonly filter: Readonly<Record<string, string | null>>;
  readonly cursor: string | null;
  /** Whether its endpoint is disabled, as far as the list of those says it: then it is not attempted. */
  readonly isHeld: (delivery: UndeliveredCallback) => boolean;
  readonly onResent: () => void;
}) {
  const [result, setResult] = useState('');
  const next = data.next_cursor;
  return (
    <>
      <output>{result !== '' && <p>{result}</p>}</output>
      <Table
        caption={say(UNDELIVERED)}
        rows={data.deliveries}
        keyOf={(each) => `${each.client_id} ${each.delivery_id}`}
        empty={say(filter['state'] === null && filter['client_id'] === null ? NOTHING : NOTHING_HERE)}
        columns={[
          {
            title: say(TEXTS.state),
            cell: (each) => <State delivery={each} isHeld={isHeld(each)} />,
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
          {
            title: say(NEXT_ATTEMPT),
            isNumber: true,
            cell: (each) => <Time at={isHeld(each) ? null : each.next_attempt_at} />,
          },
          ...(may('resend')
            ? [
                {
                  title: say(TEXTS.action),
                  cell: (each: UndeliveredCallback) => (
                    <ResendDelivery delivery={each} onDone={onResent} onResult={setResult} />
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

function ResendDelivery({
  delivery,
  onDone,
  onResult,
}: {
  readonly delivery: UndeliveredCallback;
  readonly onDone: () => void;
  readonly onResult: (text: string) => void;
}) {
  const { client_id: clientId, delivery_id: deliveryId, subject_id: subjectId, type, origin } = delivery;
  return (
    <Resend
      {...{ clientId, deliveryId, onDone, onResult }}
      transactionId={isAboutTransaction(delivery) ? subjectId : null}
      about={`${type ?? ''} ${subjectId ?? deliveryId} → ${origin}`.trim()}
    />
  );
}

/** With what its receiver answered last. What is held waits until its endpoint is enabled on the page of the client. */
function State({
  delivery: { state, client_id: clientId, last_attempt: last },
  isHeld,
}: {
  readonly delivery: UndeliveredCallback;
  readonly isHeld: boolean;
}) {
  if (!isHeld) {
    return (
      <>
        <Chip tone={STATES[state].tone} text={say(STATES[state].text)} />
        {last !== null && (
          <span class="below">{last.http_status === null ? last.error : `HTTP ${last.http_status}`}</span>
        )}
      </>
    );
  }
  return (
    <>
      <Chip tone="bad" text={say(HELD)} />
      <a class="below" href={address(['clients', clientId])}>
        {say(ENDPOINT_DISABLED)}
      </a>
    </>
  );
}

/** Most are; the others are about a bank or a bulk validation. */
const isAboutTransaction = ({ type }: UndeliveredCallback): boolean => type?.startsWith('disbursement.') === true;

function Subject({ delivery }: { readonly delivery: UndeliveredCallback }) {
  const { client_id: clientId, subject_id: id, type } = delivery;
  return (
    <>
      {isAboutTransaction(delivery) && id !== null ? <TransactionLink clientId={clientId} id={id} /> : (id ?? '–')}
      <span class="below">{type}</span>
    </>
  );
}

function Endpoints({
  read,
  clientId,
}: {
  readonly read: Resource<UnhealthyCallbackEndpointList>;
  readonly clientId: string | null;
}) {
  return (
    <>
      <h2>{say(TEXTS.receiversInTrouble)}</h2>
      <Loaded resource={read}>
        {({ endpoints }) => (
          <Table<UnhealthyCallbackEndpoint>
            caption={say(TEXTS.receiversInTrouble)}
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
              {
                title: say(TEXTS.receiver),
                cell: (each) => (
                  <>
                    {each.origin}
                    <span class="below mono id">{each.endpoint_id}</span>
                  </>
                ),
              },
              { title: say(TEXTS.reason), cell: (each) => reasonText(each.disabled_reason) },
              { title: say(FAILING_SINCE), isNumber: true, cell: (each) => <Time at={each.failing_since} /> },
            ]}
          />
        )}
      </Loaded>
    </>
  );
}
