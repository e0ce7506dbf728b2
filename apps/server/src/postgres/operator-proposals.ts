import type { Database } from './database.ts';

/** Changes that a person proposes and another one approves. */

/** As stored. A pending proposal whose time has passed is shown as `expired`. */
export const PROPOSAL_STATES = ['pending', 'executed', 'refused', 'withdrawn', 'outdated', 'expired'] as const;
export type ProposalState = (typeof PROPOSAL_STATES)[number];

export interface NewProposal {
  readonly proposalId: string;
  readonly kinds: readonly string[];
  /** What is done when it is approved, by its name in the record of actions. */
  readonly action: string;
  readonly clientId: string | null;
  readonly subjectId: string | null;
  /** JSON text: exactly what is executed. */
  readonly payload: string;
  /** SHA-256. */
  readonly payloadHash: Buffer;
  /** JSON text of what the change is based on. */
  readonly before: string | null;
  readonly reason: string;
  /** As in the record of actions. */
  readonly proposer: string;
  readonly proposerName: string;
  readonly proposerSession: string;
  readonly proposerRole: string;
  readonly origin: string;
  readonly lifetimeSeconds: number;
}

export interface Proposal extends Omit<NewProposal, 'lifetimeSeconds'> {
  readonly state: ProposalState;
  /** ISO 8601 UTC. */
  readonly createdAt: string;
  readonly expiresAt: string;
  /** Who decided, when and why; null until then. */
  readonly decidedBy: string | null;
  readonly decidedByName: string | null;
  readonly decidedAt: string | null;
  readonly decisionReason: string | null;
}

interface ProposalRow extends Record<string, unknown> {
  proposal_id: string;
  kinds: string[];
  action: string;
  client_id: string | null;
  subject_id: string | null;
  payload: string;
  payload_hash: Buffer;
  before: string | null;
  reason: string;
  proposer: string;
  proposer_name: string;
  proposer_session: string;
  proposer_role: string;
  origin: string;
  current_state: ProposalState;
  created_at: Date;
  expires_at: Date;
  decided_by: string | null;
  decided_by_name: string | null;
  decided_at: Date | null;
  decision_reason: string | null;
}

const COLUMNS = `proposal_id, kinds, action, client_id, subject_id, payload, payload_hash, before, reason, proposer,
  proposer_name, proposer_session, proposer_role, origin, created_at, expires_at, decided_by, decided_by_name,
  decided_at, decision_reason,
  case when state = 'pending' and expires_at <= now() then 'expired' else state end as current_state`;

const toProposal = (row: ProposalRow): Proposal => ({
  proposalId: row.proposal_id,
  kinds: row.kinds,
  action: row.action,
  clientId: row.client_id,
  subjectId: row.subject_id,
  payload: row.payload,
  payloadHash: row.payload_hash,
  before: row.before,
  reason: row.reason,
  proposer: row.proposer,
  proposerName: row.proposer_name,
  proposerSession: row.proposer_session,
  proposerRole: row.proposer_role,
  origin: row.origin,
  state: row.current_state,
  createdAt: row.created_at.toISOString(),
  expiresAt: row.expires_at.toISOString(),
  decidedBy: row.decided_by,
  decidedByName: row.decided_by_name,
  decidedAt: row.decided_at?.toISOString() ?? null,
  decisionReason: row.decision_reason,
});

export async function insertProposal(database: Database, proposal: NewProposal): Promise<Proposal> {
  const [row] = await database.query<ProposalRow>(
    `insert into tiba.operator_proposals
       (proposal_id, kinds, action, client_id, subject_id, payload, payload_hash, before, reason, proposer,
        proposer_name, proposer_session, proposer_role, origin, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, now() + make_interval(secs => $15))
     returning ${COLUMNS}`,
    [
      proposal.proposalId,
      proposal.kinds,
      proposal.action,
      proposal.clientId,
      proposal.subjectId,
      proposal.payload,
      proposal.payloadHash,
      proposal.before,
      proposal.reason,
      proposal.proposer,
      proposal.proposerName,
      proposal.proposerSession,
      proposal.proposerRole,
      proposal.origin,
      proposal.lifetimeSeconds,
    ],
  );
  if (row === undefined) throw new Error('PostgreSQL returned no proposal');
  return toProposal(row);
}

export async function findProposal(database: Database, proposalId: string): Promise<Proposal | null> {
  const [row] = await database.query<ProposalRow>(
    `select ${COLUMNS} from tiba.operator_proposals where proposal_id = $1`,
    [proposalId],
  );
  return row === undefined ? null : toProposal(row);
}

/** Locks it until the database transaction ends, so that of two decisions at the same time one comes second. */
export async function lockProposal(inside: Database, proposalId: string): Promise<Proposal | null> {
  const [row] = await inside.query<ProposalRow>(
    `select ${COLUMNS} from tiba.operator_proposals where proposal_id = $1 for update`,
    [proposalId],
  );
  return row === undefined ? null : toProposal(row);
}

export interface Decision {
  readonly state: Exclude<ProposalState, 'pending' | 'expired'>;
  readonly by: string;
  readonly byName: string;
  readonly reason: string;
}

/** Call it in the transaction that holds the lock. */
export async function decideProposal(inside: Database, proposalId: string, decision: Decision): Promise<Proposal> {
  const [row] = await inside.query<ProposalRow>(
    `update tiba.operator_proposals
        set state = $2, decided_by = $3, decided_by_name = $4, decided_at = now(), decision_reason = $5
      where proposal_id = $1 and state = 'pending' returning ${COLUMNS}`,
    [proposalId, decision.state, decision.by, decision.byName, decision.reason],
  );
  if (row === undefined) throw new Error('a proposal was decided while it was locked');
  return toProposal(row);
}

/**
 * Ends the pending proposals of a person, or of one session. Null means any. A session is stored for longer than its
 * proposals are pending. Resolves to the IDs.
 */
export async function endProposalsOf(
  inside: Database,
  { subject, sessionId }: { readonly subject: string | null; readonly sessionId: string | null },
): Promise<string[]> {
  if (subject === null && sessionId === null) throw new Error('proposals are ended by their person or by the session');
  const rows = await inside.query<{ proposal_id: string }>(
    `update tiba.operator_proposals
        set state = 'outdated', decided_by = 'session revoke', decided_by_name = 'End of a session', decided_at = now(),
            decision_reason = 'The session in which it was proposed was revoked, or all sessions of its proposer'
      where state = 'pending' and expires_at > now()
        and ($1::text is null
             or proposer_session in (select session_id from tiba.operator_sessions where subject = $1))
        and ($2::text is null or proposer_session = $2)
      returning proposal_id`,
    [subject, sessionId],
  );
  return rows.map((row) => row.proposal_id);
}

export interface ProposalFilter {
  /** Null: all of them. */
  readonly state: ProposalState | null;
  readonly clientId: string | null;
}

export interface ProposalPage {
  readonly before: { readonly createdAt: string; readonly proposalId: string } | null;
  readonly limit: number;
}

/** The latest first. Before the one with that time and ID, if given. */
export async function listProposals(
  database: Database,
  filter: ProposalFilter,
  page: ProposalPage,
): Promise<Proposal[]> {
  const { sql, values } = proposalsQuery(filter, page);
  return (await database.query<ProposalRow>(sql, values)).map(toProposal);
}

/** The statement of `listProposals`, with its parameters. Exported for the test of its plans. */
export function proposalsQuery(
  { state, clientId }: ProposalFilter,
  { before, limit }: ProposalPage,
): { readonly sql: string; readonly values: readonly unknown[] } {
  const sql = `select ${COLUMNS} from tiba.operator_proposals
    where ${state === null ? 'true' : STATE_CONDITIONS[state]} and ($1::text is null or client_id = $1)
      and ($2::timestamptz is null or (created_at, proposal_id) < ($2, $3))
    order by created_at desc, proposal_id desc limit $4`;
  return { sql, values: [clientId, before?.createdAt ?? null, before?.proposalId ?? null, limit] };
}

/** As the indexes have them. What is pending is found by the time until which it can be approved. */
const STATE_CONDITIONS: Readonly<Record<ProposalState, string>> = {
  pending: "state = 'pending' and expires_at > now()",
  executed: "state = 'executed'",
  refused: "state = 'refused'",
  withdrawn: "state = 'withdrawn'",
  outdated: "state = 'outdated'",
  expired: "state = 'pending' and expires_at <= now()",
};

/** Deletes at most `limit` proposals from before that time. Resolves to how many. */
export async function deleteOldProposals(database: Database, before: Date, limit: number): Promise<number> {
  const rows = await database.query(
    `delete from tiba.operator_proposals where proposal_id in
       (select proposal_id from tiba.operator_proposals where created_at < $1 order by created_at limit $2)
     returning proposal_id`,
    [before, limit],
  );
  return rows.length;
}
