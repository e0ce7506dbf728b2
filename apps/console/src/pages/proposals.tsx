import { call, given } from '../api/request.ts';
import { useResource } from '../api/resource.ts';
import { may, person } from '../api/session.ts';
import { Action } from '../components/action.tsx';
import { type Fact, Facts } from '../components/facts.tsx';
import { Loaded, Page } from '../components/page.tsx';
import { showSecretIn } from '../components/secret.tsx';
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
const PROPOSED_BY: Text = { en: 'Proposed by', id: 'Diusulkan oleh' };
const DECIDED_BY: Text = { en: 'Decided by', id: 'Diputuskan oleh' };
const EXPIRES: Text = { en: 'Expires', id: 'Kedaluwarsa' };
const BEFORE: Text = { en: 'As it is', id: 'Sekarang' };
const BEFORE_DECISION: Text = { en: 'As it was', id: 'Sebelumnya' };
const DECISION_REASON: Text = { en: 'Reason of the decision', id: 'Alasan keputusan' };
const PAYLOAD: Text = { en: 'What is done when it is approved', id: 'Yang dilakukan bila disetujui' };
const PAYLOAD_DECIDED: Text = { en: 'What was proposed', id: 'Yang diusulkan' };
const APPROVE: Text = { en: 'Approve', id: 'Setujui' };
const APPROVE_TEXT: Text = {
  en: 'The change is made at once, exactly as shown here.',
  id: 'Perubahan langsung dilakukan, persis seperti di sini.',
};
const APPROVED: Text = { en: 'Approved, and the change was made.', id: 'Disetujui, dan perubahan dilakukan.' };
const REFUSE: Text = { en: 'Refuse', id: 'Tolak' };
const REFUSE_TEXT: Text = { en: 'Nothing is changed.', id: 'Tidak ada yang diubah.' };
const REFUSED: Text = { en: 'Refused.', id: 'Ditolak.' };
const YOURS: Text = {
  en: 'You proposed it: another person with the role approver decides. You can withdraw it.',
  id: 'Ini usulan Anda: orang lain dengan peran approver yang memutuskan. Anda dapat menariknya.',
};
const WITHDRAW: Text = { en: 'Withdraw', id: 'Tarik' };
const WITHDRAWN: Text = { en: 'Withdrawn', id: 'Ditarik' };

const STATES = {
  pending: { tone: 'warn', text: { en: 'Waiting', id: 'Menunggu' } },
  executed: { tone: 'good', text: { en: 'Approved', id: 'Disetujui' } },
  refused: { tone: 'bad', text: { en: 'Refused', id: 'Ditolak' } },
  withdrawn: { tone: 'calm', text: WITHDRAWN },
  outdated: { tone: 'calm', text: { en: 'Outdated', id: 'Usang' } },
  expired: { tone: 'calm', text: { en: 'Expired', id: 'Kedaluwarsa' } },
} as const satisfies Record<ProposalState, { readonly tone: string; readonly text: Text }>;

const POLL_MS = 10_000;
const PAGE_SIZE = 50;

function State({ state }: Pick<Proposal, 'state'>) {
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
                      <a href={address(['proposals', each.proposal_id])}>{each.action}</a>
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

export function ProposalPage({ id }: { readonly id: string }) {
  const path = { proposal_id: id };
  const read = useResource(`proposal ${id}`, (signal) => call('readProposal', { path }, signal), POLL_MS);
  return (
    <Page title={read.data?.action ?? id} aside={read.data === null ? null : <State state={read.data.state} />}>
      <Loaded resource={read}>
        {(proposal) => (
          <>
            <Facts facts={factsOf(proposal)} />
            <h2>{say(proposal.state === 'pending' ? BEFORE : BEFORE_DECISION)}</h2>
            <pre class="json">{indented(proposal.before)}</pre>
            <h2>{say(proposal.state === 'pending' ? PAYLOAD : PAYLOAD_DECIDED)}</h2>
            <pre class="json">{indented(proposal.payload)}</pre>
            <Decision proposal={proposal} onDone={read.reload} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

const factsOf = (proposal: Proposal): readonly Fact[] => [
  [
    TEXTS.client,
    proposal.client_id === null ? null : <a href={address(['clients', proposal.client_id])}>{proposal.client_id}</a>,
  ],
  [CHANGE, proposal.subject_id],
  [TEXTS.reason, proposal.reason],
  [PROPOSED_BY, `${proposal.proposed_by_name} (${proposal.proposed_by})`],
  [TEXTS.created, <Time at={proposal.created_at} focusable />],
  [EXPIRES, <Time at={proposal.expires_at} focusable />],
  [DECIDED_BY, proposal.decided_by === null ? null : `${proposal.decided_by_name} (${proposal.decided_by})`],
  [DECISION_REASON, proposal.decision_reason],
];

function Decision({ proposal, onDone }: { readonly proposal: Proposal; readonly onDone: () => void }) {
  if (proposal.state !== 'pending') return null;
  const path = { proposal_id: proposal.proposal_id };
  if (proposal.proposed_by === person()?.actor) {
    return (
      <>
        <p class="empty">{say(YOURS)}</p>
        <div class="actions">
          <Action
            title={say(WITHDRAW)}
            description={say(REFUSE_TEXT)}
            onDone={onDone}
            run={async (reason) => {
              await call('refuseProposal', { path, body: { reason } });
              return say(WITHDRAWN);
            }}
          />
        </div>
      </>
    );
  }
  if (!may('decide')) return null;
  return (
    <div class="actions">
      <Action
        title={say(APPROVE)}
        description={say(APPROVE_TEXT)}
        onDone={onDone}
        run={async (reason) => {
          const { result } = await call('approveProposal', {
            path,
            body: { payload_hash: proposal.payload_hash, reason },
          });
          showSecretIn(result);
          return say(APPROVED);
        }}
      />
      <Action
        title={say(REFUSE)}
        description={say(REFUSE_TEXT)}
        onDone={onDone}
        run={async (reason) => {
          await call('refuseProposal', { path, body: { reason } });
          return say(REFUSED);
        }}
      />
    </div>
  );
}

/** JSON for people; a text that is none stays as it is. */
function indented(text: string | null): string {
  if (text === null) return say(TEXTS.none);
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
