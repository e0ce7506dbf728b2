import { call, given } from '../api/request.ts';
import { useResource } from '../api/resource.ts';
import { may, person } from '../api/session.ts';
import { Action } from '../components/action.tsx';
import { Loaded, Page } from '../components/page.tsx';
import { Table } from '../components/table.tsx';
import { Chip, Time } from '../components/values.tsx';
import type { PersonSession } from '../generated/api.ts';
import { say, type Text } from '../preferences.ts';
import { address, place } from '../router.ts';
import { TEXTS } from '../texts.ts';

/** Who is logged in. */

const LEAD: Text = {
  en: 'Who is logged in, the latest first. When a person leaves, take the role away at the identity provider first.',
  id: 'Siapa yang sedang masuk, yang terbaru lebih dulu. Bila seseorang keluar, cabut dulu perannya di penyedianya.',
};
const NONE: Text = { en: 'No person is logged in with this subject.', id: 'Tidak ada orang dengan subject ini.' };
const PERSON: Text = { en: 'Person', id: 'Orang' };
const ROLE: Text = { en: 'Role', id: 'Peran' };
const LAST_SEEN: Text = { en: 'Last seen', id: 'Terakhir terlihat' };
const ENDS: Text = { en: 'Ends', id: 'Berakhir' };
const FROM: Text = { en: 'From', id: 'Dari' };
const THIS: Text = { en: 'this session', id: 'sesi ini' };
const EVERY_PERSON: Text = { en: 'All people', id: 'Semua orang' };
const LOG_OUT: Text = { en: 'Log out', id: 'Keluarkan' };
const LOG_OUT_TEXT: Text = {
  en: 'This session ends at once in all processes. What the person proposed in it becomes outdated.',
  id: 'Sesi ini langsung berakhir di semua proses. Yang diusulkan di dalamnya menjadi usang.',
};
const LOG_OUT_ALL: Text = { en: 'Log out everywhere', id: 'Keluarkan semua' };
const LOG_OUT_ALL_TEXT: Text = {
  en: 'All sessions of the person end, and all their proposals. They can log in again unless the provider refuses it.',
  id: 'Semua sesi dan usulan orang ini berakhir. Ia bisa masuk lagi, kecuali penyedia identitas menolak.',
};
const LOGGED_OUT: Text = { en: 'Sessions ended: {count}', id: 'Sesi yang berakhir: {count}' };

const POLL_MS = 15_000;
const LIMIT = 200;

export function SessionsPage() {
  const subject = place.value.query.get('subject');
  const read = useResource(
    `sessions ${subject}`,
    (signal) => call('listSessions', { query: given({ subject, limit: LIMIT }) }, signal),
    POLL_MS,
  );
  return (
    <Page title={say(TEXTS.sessions)} lead={say(LEAD)}>
      {subject !== null && (
        <p class="filters">
          <span class="filter">{subject}</span>
          <a href={address(['sessions'])}>{say(EVERY_PERSON)}</a>
        </p>
      )}
      <Loaded resource={read}>
        {({ sessions, has_more: hasMore }) => (
          <>
            <Table<PersonSession>
              caption={say(TEXTS.sessions)}
              rows={sessions}
              keyOf={(each) => each.session_id}
              empty={say(NONE)}
              columns={[
                { title: say(PERSON), cell: (each) => <Who session={each} /> },
                { title: say(ROLE), cell: (each) => <Chip tone="calm" text={each.role} /> },
                { title: say(TEXTS.since), isNumber: true, cell: (each) => <Time at={each.created_at} /> },
                { title: say(LAST_SEEN), isNumber: true, cell: (each) => <Time at={each.last_used_at} /> },
                { title: say(ENDS), isNumber: true, cell: (each) => <Time at={each.expires_at} /> },
                { title: say(FROM), cell: (each) => <span class="mono id">{each.origin}</span> },
                ...(may('revokeSessions')
                  ? [
                      {
                        title: say(TEXTS.action),
                        cell: (each: PersonSession) => <LogOut session={each} onDone={read.reload} />,
                      },
                    ]
                  : []),
              ]}
            />
            {hasMore && <p class="empty">{say(TEXTS.more)}</p>}
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Who({ session: { session_id: id, name, subject, issuer } }: { readonly session: PersonSession }) {
  return (
    <>
      {name} {person()?.session_id === id && <Chip tone="busy" text={say(THIS)} />}
      <span class="below">
        <a href={address(['sessions'], { subject })}>{subject}</a>
      </span>
      {issuer !== null && <span class="below">{issuer}</span>}
    </>
  );
}

function LogOut({ session, onDone }: { readonly session: PersonSession; readonly onDone: () => void }) {
  const { session_id, subject, name } = session;
  const revoke = async (whose: { readonly session_id: string } | { readonly subject: string }, reason: string) => {
    const { revoked } = await call('revokeSessions', { body: { ...whose, reason } });
    return say(LOGGED_OUT, { count: revoked });
  };
  return (
    <span class="chips">
      <Action
        title={say(LOG_OUT)}
        label={`${say(LOG_OUT)}: ${name}, ${session_id}`}
        description={say(LOG_OUT_TEXT)}
        onDone={onDone}
        run={(reason) => revoke({ session_id }, reason)}
      />
      <Action
        title={say(LOG_OUT_ALL)}
        label={`${say(LOG_OUT_ALL)}: ${name}, ${session_id}`}
        description={say(LOG_OUT_ALL_TEXT)}
        onDone={onDone}
        run={(reason) => revoke({ subject }, reason)}
      />
    </span>
  );
}
