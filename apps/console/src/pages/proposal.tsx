import type { ComponentChildren } from 'preact';
import { call } from '../api/request.ts';
import { useResource } from '../api/resource.ts';
import { may, person } from '../api/session.ts';
import { actionText } from '../audit-actions.ts';
import { Action } from '../components/action.tsx';
import { type Fact, Facts } from '../components/facts.tsx';
import { Loaded, Page } from '../components/page.tsx';
import { showSecretIn } from '../components/secret.tsx';
import { Table } from '../components/table.tsx';
import { Time } from '../components/values.tsx';
import { integer } from '../format.ts';
import type { Proposal } from '../generated/api.ts';
import { language, say, type Text } from '../preferences.ts';
import { type ChangedField, type FieldValue, type ProposalFields, readProposalFields } from '../proposal-fields.ts';
import { address } from '../router.ts';
import { TEXTS } from '../texts.ts';
import { SNAP_TEXTS } from './client-snap.tsx';
import { LIMITS, limitText, SCOPES_TITLE } from './clients.tsx';
import { DECIDED_BY, EXPIRES, POLL_MS, PROPOSED_BY, State, WITHDRAWN } from './proposals.tsx';

/** One proposal: what it changes, and its decision. */

const BEFORE: Text = { en: 'As it is', id: 'Sekarang' };
const BEFORE_DECISION: Text = { en: 'As it was', id: 'Sebelumnya' };
const AFTER: Text = { en: 'Proposed', id: 'Diusulkan' };
const SUBJECT: Text = { en: 'Concerns', id: 'Tentang' };
const FIELD: Text = { en: 'Field', id: 'Isian' };
const NO_FIELDS: Text = {
  en: 'This action has no fields: its name says what it does.',
  id: 'Tindakan ini tidak punya isian: namanya mengatakan apa yang dilakukan.',
};
const BASIS: Text = { en: 'What else it is based on', id: 'Dasar usulan yang lain' };
const EXACTLY: Text = { en: 'Exactly, as JSON', id: 'Persisnya, sebagai JSON' };
const PAYLOAD_HASH: Text = { en: 'SHA-256 of what was proposed', id: 'SHA-256 dari yang diusulkan' };
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

/** The names of fields. One that is not here is shown as the service names it. */
const FIELD_TEXTS: ReadonlyMap<string, Text> = new Map<string, Text>([
  ...Object.entries({
    name: { en: 'Name', id: 'Nama' },
    scopes: SCOPES_TITLE,
    trusted: { en: 'Trusted', id: 'Tepercaya' },
    disabled: { en: 'Disabled', id: 'Nonaktif' },
    disabled_reason: { en: 'Disabled because of', id: 'Alasan nonaktif' },
    secret: { en: 'Secret', id: 'Secret' },
    second_secret: { en: 'Second secret', id: 'Secret kedua' },
    tokens_valid_from: { en: 'Tokens valid since', id: 'Token berlaku sejak' },
    origin: TEXTS.receiver,
    url_sha256: { en: 'SHA-256 of the URL', id: 'SHA-256 dari URL' },
    kinds: { en: 'Events', id: 'Peristiwa' },
    endpoint_id: { en: 'Endpoint', id: 'Endpoint' },
    endpointId: { en: 'Endpoint', id: 'Endpoint' },
    endpoints: { en: 'Endpoints', id: 'Endpoint' },
    key_id: { en: 'ID of the key', id: 'ID kunci' },
    public_key: { en: 'Public key', id: 'Kunci publik' },
    algorithm: { en: 'Algorithm', id: 'Algoritma' },
    former_hours: { en: 'Former secret valid for (h)', id: 'Secret lama berlaku (jam)' },
    transaction_id: TEXTS.transaction,
    review_since: { en: 'For review since', id: 'Ditinjau sejak' },
    from: { en: 'From', id: 'Dari' },
    to: { en: 'Until', id: 'Sampai' },
    first: { en: 'First event', id: 'Peristiwa pertama' },
    last: { en: 'Last event', id: 'Peristiwa terakhir' },
    deliveryState: { en: 'Only', id: 'Hanya' },
    until: { en: 'Ends at', id: 'Berakhir pada' },
    snap: { en: 'SNAP', id: 'SNAP' },
  }),
  ...Object.entries(SNAP_TEXTS).map(
    ([name, text]) => [`snap.${name}`, { en: `SNAP: ${text.en}`, id: `SNAP: ${text.id}` }] as const,
  ),
  ...Object.entries(LIMITS).map(([name, text]) => [`limits.${name}`, text] as const),
]);

const fieldText = (name: string): Text => FIELD_TEXTS.get(name) ?? { en: name, id: name };

export function ProposalPage({ id }: { readonly id: string }) {
  const path = { proposal_id: id };
  const read = useResource(`proposal ${id}`, (signal) => call('readProposal', { path }, signal), POLL_MS);
  const title = read.data === null ? id : say(actionText(read.data.action));
  return (
    <Page title={title} aside={read.data === null ? null : <State state={read.data.state} />}>
      <Loaded resource={read}>
        {(proposal) => (
          <>
            <Facts facts={factsOf(proposal)} />
            <h2>{say(proposal.state === 'pending' ? PAYLOAD : PAYLOAD_DECIDED)}</h2>
            <Proposed proposal={proposal} fields={readProposalFields(proposal.payload, proposal.before)} />
            <Decision proposal={proposal} onDone={read.reload} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Proposed({ proposal, fields }: { readonly proposal: Proposal; readonly fields: ProposalFields | null }) {
  const beforeTitle = say(proposal.state === 'pending' ? BEFORE : BEFORE_DECISION);
  return (
    <>
      {fields !== null && (
        <Table<ChangedField>
          caption={say(PAYLOAD)}
          rows={fields.changed}
          keyOf={(each) => each.name}
          empty={say(NO_FIELDS)}
          columns={[
            { title: say(FIELD), cell: ({ name }) => say(fieldText(name)) },
            {
              title: beforeTitle,
              cell: ({ name, before }) => (before === undefined ? '–' : <Value name={name} value={before} />),
            },
            {
              title: say(AFTER),
              cell: ({ name, after }) => (
                <strong>
                  <Value name={name} value={after} />
                </strong>
              ),
            },
          ]}
        />
      )}
      {fields !== null && fields.others.length > 0 && (
        <details>
          <summary>{say(BASIS)}</summary>
          <Facts
            facts={fields.others.map(({ name, value }) => [fieldText(name), <Value name={name} value={value} />])}
          />
        </details>
      )}
      <details open={fields === null}>
        <summary>{say(EXACTLY)}</summary>
        <pre class="json">{indented(proposal.payload)}</pre>
        <p class="small">
          {say(PAYLOAD_HASH)}: <code>{proposal.payload_hash}</code>
        </p>
        <h3>{beforeTitle}</h3>
        <pre class="json">{proposal.before === null ? say(TEXTS.none) : indented(proposal.before)}</pre>
      </details>
    </>
  );
}

const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}/;

function Value({ name, value }: { readonly name: string; readonly value: FieldValue }): ComponentChildren {
  if (typeof value === 'boolean') return say(value ? TEXTS.yes : TEXTS.no);
  if (typeof value === 'number') return integer(value, language.value);
  if (value === null && name.startsWith('limits.')) return limitText(value);
  // PostgreSQL's time before all others: no token was revoked.
  if (value === null || value === '' || value === '-infinity') return say(TEXTS.none);
  return INSTANT.test(value) ? <Time at={value} withDay /> : <code>{value}</code>;
}

const factsOf = (proposal: Proposal): readonly Fact[] => [
  [
    TEXTS.client,
    proposal.client_id === null ? null : <a href={address(['clients', proposal.client_id])}>{proposal.client_id}</a>,
  ],
  [SUBJECT, proposal.subject_id],
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
function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
