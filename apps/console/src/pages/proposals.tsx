import { call, given } from '../api/request.ts';
import { useResource } from '../api/resource.ts';
import { actionText } from '../audit-actions.ts';
import { Loaded, Page } from '../components/page.tsx';
import { Pager, Table } from '../components/table.tsx';
import { Chip, Time } from '../components/values.tsx';
import type { Proposal, ProposalState } from '../generated/api.ts';
import { say, type Text } from '../preferences.ts';
import { address, place } from '../router.ts';
import { TEXTS } from '../texts.ts';

/** Changes that one person has proposed and another one decides. */

const LEAD: Text = {
  en: 'Changes that a second person must approve. What is approved is exactly what is shown, and nothing else.',
  id: 'Perubahan yang harus disetujui orang kedua. Yang disetujui persis seperti yang ditampilkan.',
};
const NONE: Text = { en: 'Nothing waits for an approval.', id: 'Tidak ada yang menunggu persetujuan.' };
const CHANGE: Text = { en: 'Change', id: 'Perubahan' };
export const PROPOSED_BY: Text = { en: 'Proposed by', id: 'Diusulkan oleh' };
export const DECIDED_BY: Text = { en: 'Decided by', id: 'Diputuskan oleh' };
export const EXPIRES: Text = { en: 'Expires', id: 'Kedaluwarsa' };
export const WITHDRAWN: Text = { en: 'Withdrawn', id: 'Ditarik' };

const STATES = {
  pending: { tone: 'warn', text: { en: 'Waiting', id: 'Menunggu' } },
  executed: { tone: 'good', text: { en: 'Approved', id: 'Disetujui' } },
  refused: { tone: 'bad', text: { en: 'Refused', id: 'Ditolak' } },
  withdrawn: { tone: 'calm', text: WITHDRAWN },
  outdated: { tone: 'calm', text: { en: 'Outdated', id: 'Usang' } },
  expired: { tone: 'calm', text: { en: 'Expired', id: 'Kedaluwarsa' } },
} as const satisfies Record<ProposalState, { readonly tone: string; readonly text: Text }>;

export const POLL_MS = 10_000;
const PAGE_SIZE = 50;

export function State({ state }: Pick<Proposal, 'state'>) {
  return <Chip tone={STATES[state].tone} text={say(STATES[state].text)} />;
}

export function ProposalsPage() {
  const { query } = place.value;
  const state = query.get('state') === 'pending' ? 'pending' : null;
  const cursor = query.get('cursor');
  const read = useResource(
    `proposals ${state} ${cursor}`,
    (signal) => call('listProposals', { query: given({ state, cursor, limit: PAGE_SIZE }) }, signal),
    POLL_MS,
  );
  return (
    <Page title={say(TEXTS.proposals)} lead={say(LEAD)}>
      <nav class="tabs" aria-label={say(TEXTS.state)}>
        {([null, 'pending'] as const).map((each) => (
          <a
            key={each}
            href={address(['proposals'], { state: each })}
            aria-current={state === each ? 'page' : undefined}
          >
            {say(each === null ? TEXTS.all : STATES[each].text)}
          </a>
        ))}
      </nav>
      <Loaded resource={read}>
        {({ proposals, next_cursor: next }) => (
          <>
            <Table<Proposal>
              caption={say(TEXTS.proposals)}
              rows={proposals}
              keyOf={(each) => each.proposal_id}
              empty={say(NONE)}
              columns={[
                { title: say(TEXTS.state), cell: (each) => <State state={each.state} /> },
                {
                  title: say(CHANGE),
                  cell: (each) => (
                    <>
                      <a href={address(['proposals', each.proposal_id])}>{say(actionText(each.action))}</a>
                      <span class="below">{each.subject_id ?? each.client_id}</span>
                    </>
                  ),
                },
                { title: say(TEXTS.reason), cell: (each) => each.reason },
                { title: say(PROPOSED_BY), cell: (each) => each.proposed_by_name },
                { title: say(DECIDED_BY), cell: (each) => each.decided_by_name ?? '–' },
                { title: say(TEXTS.created), isNumber: true, cell: (each) => <Time at={each.created_at} /> },
                { title: say(EXPIRES), isNumber: true, cell: (each) => <Time at={each.expires_at} /> },
              ]}
            />
            <Pager
              next={next === null ? null : address(['proposals'], { state, cursor: next })}
              first={cursor === null ? null : address(['proposals'], { state })}
            />
          </>
        )}
      </Loaded>
    </Page>
  );
}
