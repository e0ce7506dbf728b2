import { call, given } from '../api/request.ts';
import { useResource } from '../api/resource.ts';
import { actionText } from '../audit-actions.ts';
import { Loaded, Page } from '../components/page.tsx';
import { Pager, Table } from '../components/table.tsx';
import { TextFilter } from '../components/text-filter.tsx';
import { Time, TransactionLink } from '../components/values.tsx';
import type { OperatorAction } from '../generated/api.ts';
import { say, type Text } from '../preferences.ts';
import { address, place } from '../router.ts';
import { TEXTS } from '../texts.ts';

const LEAD: Text = {
  en: 'Who changed or unmasked what, when, from where and why: over the API, on a page or by a command.',
  id: 'Siapa mengubah atau membuka apa, kapan, dari mana dan mengapa: lewat API, halaman atau perintah.',
};
const NONE: Text = {
  en: 'Nothing was recorded that matches. A filter takes a whole value, as the list shows it.',
  id: 'Tidak ada catatan yang cocok. Saringan memerlukan nilai lengkap, seperti di daftar.',
};
const WHEN: Text = { en: 'When', id: 'Kapan' };
const WHO: Text = { en: 'Who', id: 'Siapa' };
const WHAT: Text = { en: 'What', id: 'Apa' };
const SUBJECT: Text = { en: 'Concerns', id: 'Tentang' };
const CHANGE: Text = { en: 'Before → after', id: 'Sebelum → sesudah' };
const SHOW: Text = { en: 'Show', id: 'Tampilkan' };

const FILTERS = ['actor', 'action', 'client_id', 'subject_id'] as const;
const FILTER_TEXTS = { actor: WHO, action: WHAT, client_id: TEXTS.client, subject_id: SUBJECT } as const;
const PAGE_SIZE = 50;
/** Of a session, a replay, an endpoint …; the subject of a person is longer. */
const OWN_ID = /^[a-z]{2}_[0-9a-f]{20}$/;

export function AuditPage() {
  const { query } = place.value;
  const filter = Object.fromEntries(FILTERS.map((name) => [name, query.get(name)])) as Record<
    (typeof FILTERS)[number],
    string | null
  >;
  const cursor = query.get('cursor');
  const parameters = given({ ...filter, cursor, limit: PAGE_SIZE });
  const read = useResource(`audit ${query}`, (signal) => call('listOperatorActions', { query: parameters }, signal));
  return (
    <Page title={say(TEXTS.audit)} lead={say(LEAD)}>
      <TextFilter path={['audit']} titles={FILTER_TEXTS} values={filter} />
      <Loaded resource={read}>
        {({ actions, next_cursor: next }) => (
          <>
            <Actions actions={actions} />
            <Pager
              next={next === null ? null : address(['audit'], { ...filter, cursor: next })}
              first={cursor === null ? null : address(['audit'], filter)}
            />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Actions({ actions }: { readonly actions: readonly OperatorAction[] }) {
  return (
    <Table
      caption={say(TEXTS.audit)}
      rows={actions}
      keyOf={(each) => String(each.sequence)}
      empty={say(NONE)}
      columns={[
        { title: '#', isNumber: true, cell: (each) => each.sequence },
        { title: say(WHEN), isNumber: true, cell: (each) => <Time at={each.happened_at} /> },
        {
          title: say(WHO),
          cell: (each) => (
            <>
              {each.actor_name}
              <span class={each.actor_name === null ? '' : 'below'}>
                <a href={address(['audit'], { actor: each.actor })}>{each.actor}</a>
              </span>
              <span class="below">{each.origin}</span>
            </>
          ),
        },
        {
          title: say(WHAT),
          cell: (each) => (
            <>
              {say(actionText(each.action))}
              <span class="below">
                <a href={address(['audit'], { action: each.action })}>{each.action}</a>
              </span>
            </>
          ),
        },
        {
          title: say(SUBJECT),
          cell: (each) => (
            <>
              {each.subject_id === null ? '' : <Subject action={each} id={each.subject_id} />}
              <span class="below">{each.client_id}</span>
            </>
          ),
        },
        { title: say(TEXTS.reason), cell: (each) => each.reason ?? '–' },
        { title: say(CHANGE), cell: (each) => <Change action={each} /> },
      ]}
    />
  );
}

function Subject({
  action: { action, client_id: clientId },
  id,
}: {
  readonly action: OperatorAction;
  readonly id: string;
}) {
  const isTransaction = action.startsWith('transaction ') || action.startsWith('review ');
  if (id.startsWith('pr_')) {
    return (
      <a class="mono id" href={address(['proposals', id])}>
        {id}
      </a>
    );
  }
  if (isTransaction && clientId !== null) return <TransactionLink clientId={clientId} id={id} />;
  return <span class={`mono ${OWN_ID.test(id) ? 'id' : ''}`}>{id}</span>;
}

function Change({ action: { before, after } }: { readonly action: OperatorAction }) {
  if (before === null && after === null) return <>–</>;
  return (
    <details>
      <summary>{say(SHOW)}</summary>
      <code class="block">{before ?? say(TEXTS.none)}</code>
      <code class="block">{after ?? say(TEXTS.none)}</code>
    </details>
  );
}
