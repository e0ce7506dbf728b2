import { Type } from 'typebox';
import { FOUR_EYES_KINDS } from '../../../auth/four-eyes.ts';
import { PROPOSAL_STATES, type Proposal } from '../../../postgres/operator-proposals.ts';
import { nullable, Timestamp } from '../../schemas.ts';

/** The message of an answer that has a proposal instead of what was asked for. */
export const PROPOSED = 'Nothing was changed yet: another person with the role approver must approve the proposal';

export const proposalJson = (proposal: Proposal): Record<string, unknown> => ({
  proposal_id: proposal.proposalId,
  state: proposal.state,
  kinds: proposal.kinds,
  action: proposal.action,
  client_id: proposal.clientId,
  subject_id: proposal.subjectId,
  reason: proposal.reason,
  payload: proposal.payload,
  payload_hash: proposal.payloadHash.toString('hex'),
  before: proposal.before,
  proposed_by: proposal.proposer,
  proposed_by_name: proposal.proposerName,
  created_at: proposal.createdAt,
  expires_at: proposal.expiresAt,
  decided_by: proposal.decidedBy,
  decided_by_name: proposal.decidedByName,
  decided_at: proposal.decidedAt,
  decision_reason: proposal.decisionReason,
});

const text = (description: string, example: string) => Type.String({ description, examples: [example] });
const HASH = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08';

export const ProposalStateSchema = Type.Enum([...PROPOSAL_STATES], {
  title: 'ProposalState',
  description:
    'pending: to be decided. executed: approved, and the change was made. refused. withdrawn: by its proposer. ' +
    'outdated: when it was approved, what it is about had changed, or sessions of its proposer were revoked; nothing ' +
    'was done. expired: it was not decided in time.',
});

const proposalFields = {
  proposal_id: text('The proposal.', 'pr_5f0c1d2e3b4a59687786'),
  state: ProposalStateSchema,
  kinds: Type.Array(Type.Enum([...FOUR_EYES_KINDS], { title: 'FourEyesKind' }), {
    description: 'What needs the approval.',
  }),
  action: text('What is done when it is approved, as the audit names it.', 'client change'),
  client_id: nullable(text('The client that it concerns.', 'shop-one'), 'null where it concerns none.'),
  subject_id: nullable(text('What it concerns.', 'TB2026112100000001'), 'null where it is the client itself.'),
  reason: text('Why, as its proposer says.', 'Ticket 4711: more payouts from December on'),
  payload: text('Exactly what is executed, as JSON text.', '{"change":{"trusted":true}}'),
  payload_hash: text('SHA-256 of `payload`. An approval names it.', HASH),
  before: nullable(text('What the change is based on, as JSON text.', '{"trusted":false}'), 'null for nothing.'),
  proposed_by: text('Who proposed it.', 'person:https://login.example.com#siti'),
  proposed_by_name: text('The name of that person.', 'Siti Rahma'),
  created_at: Timestamp,
  expires_at: Timestamp,
  decided_by: nullable(text('Who decided.', 'person:https://login.example.com#budi'), 'null until then.'),
  decided_by_name: nullable(text('The name of that person.', 'Budi Santoso'), 'null until then.'),
  decided_at: nullable(Timestamp, 'null until then.'),
  decision_reason: nullable(text('Why, as that person says.', 'Agreed with the client'), 'null until then.'),
};

export const ProposalSchema = Type.Object(proposalFields, { title: 'Proposal', additionalProperties: false });

export const ApprovedProposalSchema = Type.Object(
  {
    ...proposalFields,
    result: nullable(
      text('What the change has answered, as JSON text. A new secret is shown here only.', '{"trusted":true}'),
      'null for nothing.',
    ),
  },
  { title: 'ApprovedProposal', additionalProperties: false },
);
