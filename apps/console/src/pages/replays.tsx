import { call, given } from '../api/request.ts';
import { useResource } from '../api/resource.ts';
import { may } from '../api/session.ts';
import { Action } from '../components/action.tsx';
import { Facts } from '../components/facts.tsx';
import { Loaded, Page } from '../components/page.tsx';
import { Table } from '../components/table.tsx';
import { Chip, Progress, Time } from '../components/values.tsx';
import { integer } from '../format.ts';
import type { CallbackReplay, ReplayOutcome, ReplayProgress, ReplayState } from '../generated/api.ts';
import { language, say, type Text } from '../preferences.ts';
import { address, place } from '../router.ts';
import { TEXTS } from '../texts.ts';
import { NewReplay } from './new-replay.tsx';

/** Many callbacks of one client, sent again. */

const LEAD: Text = {
  en: 'Many callbacks of one client, sent again. New events wait behind a few hundred of them at most.',
  id: 'Banyak callback dari satu klien, dikirim ulang. Peristiwa baru menunggu paling banyak beberapa ratus callback.',
};
const NONE: Text = { en: 'No replay was started in 90 days.', id: 'Tidak ada kirim ulang dalam 90 hari.' };
const RANGE: Text = { en: 'Range', id: 'Rentang' };
const EVENTS: Text = { en: 'Events {first} to {last}', id: 'Peristiwa {first} sampai {last}' };
const REPLAYED: Text = { en: 'Sent again', id: 'Dikirim ulang' };
const EXAMINED: Text = { en: 'Examined', id: 'Diperiksa' };
const STARTED_BY: Text = { en: 'Started by', id: 'Dimulai oleh' };
const ENDED: Text = { en: 'Ended', id: 'Berakhir' };
const ENDPOINTS: Text = { en: 'By endpoint', id: 'Per endpoint' };
const ONLY: Text = { en: 'Only', id: 'Hanya' };
const STOP: Text = { en: 'Stop', id: 'Hentikan' };
const STOP_TEXT: Text = {
  en: 'It stops within a few seconds. Callbacks that wait for their turn already are still sent.',
  id: 'Berhenti dalam beberapa detik. Callback yang sudah mengantre tetap dikirim.',
};
const STOPPED: Text = { en: 'Stopping.', id: 'Sedang dihentikan.' };

const STATES = {
  RUNNING: { tone: 'busy', text: { en: 'Running', id: 'Berjalan' } },
  COMPLETED: { tone: 'good', text: { en: 'Completed', id: 'Selesai' } },
  CANCELLED: { tone: 'calm', text: { en: 'Stopped', id: 'Dihentikan' } },
} as const satisfies Record<ReplayState, { readonly tone: string; readonly text: Text }>;

const OUTCOMES = {
  completed: { en: 'Completed', id: 'Selesai' },
  disabled: { en: 'Ended: the endpoint was disabled', id: 'Berakhir: endpoint dinonaktifkan' },
  removed: { en: 'Ended: the endpoint was removed', id: 'Berakhir: endpoint sudah dihapus' },
} as const satisfies Record<ReplayOutcome, Text>;

const POLL_MS = 5_000;
const LIMIT = 100;

const State = ({ state }: Pick<CallbackReplay, 'state'>) => (
  <Chip tone={STATES[state].tone} text={say(STATES[state].text)} />
);

export function ReplaysPage() {
  const clientId = place.value.query.get('client_id');
  const read = useResource(
    `replays ${clientId}`,
    (signal) => call('listCallbackReplays', { query: given({ client_id: clientId, limit: LIMIT }) }, signal),
    POLL_MS,
  );
  return (
    <Page title={say(TEXTS.replays)} lead={say(LEAD)}>
      {may('replay') && <NewReplay clientId={clientId} onStarted={read.reload} />}
      <Loaded resource={read}>
        {({ replays, has_more: hasMore }) => (
          <>
            <Table<CallbackReplay>
              caption={say(TEXTS.replays)}
              rows={replays}
              keyOf={(each) => each.replay_id}
              empty={say(NONE)}
              columns={[
                { title: say(TEXTS.state), cell: (each) => <State state={each.state} /> },
                {
                  title: say(TEXTS.client),
                  cell: (each) => (
                    <>
                      <a href={address(['replays', each.replay_id])}>{each.client_id}</a>
                      <span class="below mono id">{each.replay_id}</span>
                    </>
                  ),
                },
                { title: say(RANGE), cell: (each) => <Range replay={each} /> },
                { title: say(TEXTS.progress), isNumber: true, cell: (each) => <Done endpoints={each.endpoints} /> },
                { title: say(REPLAYED), isNumber: true, cell: (each) => sum(each, 'replayed') },
                { title: say(TEXTS.created), isNumber: true, cell: (each) => <Time at={each.created_at} /> },
              ]}
            />
            {hasMore && <p class="empty">{say(TEXTS.more)}</p>}
          </>
        )}
      </Loaded>
    </Page>
  );
}

const sum = ({ endpoints }: CallbackReplay, name: 'examined' | 'replayed'): string =>
  integer(
    endpoints.reduce((total, each) => total + each[name], 0),
    language.value,
  );

function Range({ replay }: { readonly replay: CallbackReplay }) {
  const { from, to, first_sequence: first, last_sequence: last } = replay;
  if (from === null) return <>{say(EVENTS, { first: first ?? '', last: last ?? '' })}</>;
  return (
    <>
      <Time at={from} withDay /> – <Time at={to} withDay />
    </>
  );
}

function Done({ endpoints }: { readonly endpoints: readonly ReplayProgress[] }) {
  const share = endpoints.reduce((total, each) => total + each.progress, 0) / Math.max(endpoints.length, 1);
  return <Progress value={share} max={1} text={`${Math.floor(share * 100)} %`} />;
}

export function ReplayPage({ id }: { readonly id: string }) {
  const path = { replay_id: id };
  const read = useResource(`replay ${id}`, (signal) => call('readCallbackReplay', { path }, signal), POLL_MS);
  return (
    <Page title={id} aside={read.data === null ? null : <State state={read.data.state} />}>
      <Loaded resource={read}>{(replay) => <Replay replay={replay} onStopped={read.reload} />}</Loaded>
    </Page>
  );
}

function Replay({ replay, onStopped }: { readonly replay: CallbackReplay; readonly onStopped: () => void }) {
  return (
    <>
      <Facts
        facts={[
          [TEXTS.client, <a href={address(['clients', replay.client_id])}>{replay.client_id}</a>],
          [RANGE, <Range replay={replay} />],
          [ONLY, replay.delivery_state],
          [TEXTS.progress, <Done endpoints={replay.endpoints} />],
          [REPLAYED, sum(replay, 'replayed')],
          [STARTED_BY, replay.created_by],
          [TEXTS.created, <Time at={replay.created_at} focusable />],
          [ENDED, replay.ended_at === null ? null : <Time at={replay.ended_at} focusable />],
        ]}
      />
      {may('replay') && replay.state === 'RUNNING' && (
        <div class="actions">
          <Action
            title={say(STOP)}
            description={say(STOP_TEXT)}
            onDone={onStopped}
            run={async (reason) => {
              await call('cancelCallbackReplay', { path: { replay_id: replay.replay_id }, body: { reason } });
              return say(STOPPED);
            }}
          />
        </div>
      )}
      <h2>{say(ENDPOINTS)}</h2>
      <Table<ReplayProgress>
        caption={say(ENDPOINTS)}
        rows={replay.endpoints}
        keyOf={(each) => each.endpoint_id}
        empty={say(TEXTS.none)}
        columns={[
          { title: say(TEXTS.receiver), cell: (each) => <code>{each.endpoint_id}</code> },
          { title: say(TEXTS.progress), isNumber: true, cell: (each) => <Done endpoints={[each]} /> },
          { title: say(EXAMINED), isNumber: true, cell: (each) => integer(each.examined, language.value) },
          { title: say(REPLAYED), isNumber: true, cell: (each) => integer(each.replayed, language.value) },
          {
            title: say(TEXTS.state),
            cell: ({ outcome }) => say(outcome === null ? STATES[replay.state].text : OUTCOMES[outcome]),
          },
        ]}
      />
    </>
  );
}
