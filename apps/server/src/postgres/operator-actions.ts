import { createHash } from 'node:crypto';
import type { Database, Query } from './database.ts';

/**
 * The record of what operators did. Each record has a hash over its fields and the hash of the record before it, so a
 * record that was changed or removed later does not fit into the chain. The end of the chain is kept in a row of its
 * own: without it, removing the last record would leave a whole chain.
 */

/** An action before it is recorded. */
export interface NewOperatorAction {
  /**
   * `person:` with the issuer of the login, `#` and the subject; the client of a token; or `user:` and the system user
   * of a command.
   */
  readonly actor: string;
  /** The address of the request, or the host of the command. */
  readonly origin: string;
  readonly action: string;
  /** The client that it concerns. */
  readonly clientId: string | null;
  /** A transaction, a delivery, … */
  readonly subjectId: string | null;
  readonly reason: string | null;
  /** JSON text of what was before and after; null where there is nothing. Never a secret. */
  readonly before: string | null;
  readonly after: string | null;
}

/** What a record has about the person who acts, and about the one who approved it; null where there is none. */
interface People {
  readonly actorName: string | null;
  readonly sessionId: string | null;
  readonly role: string | null;
  /** `actor` proposed it. */
  readonly proposalId: string | null;
  readonly approvedBy: string | null;
  readonly approvedByName: string | null;
}

export interface OperatorAction extends NewOperatorAction, People {
  /** From 1, without gaps. */
  readonly sequence: number;
  /** ISO 8601 UTC. */
  readonly happenedAt: string;
  readonly previousHash: Buffer;
  /** SHA-256. */
  readonly hash: Buffer;
}

/** Who acts, and from where. */
export interface Actor extends Pick<NewOperatorAction, 'actor' | 'origin'> {
  /** Absent for a machine and a command. */
  readonly person?: { readonly name: string; readonly sessionId: string; readonly role: string };
  /** Absent for what needed no approval. */
  readonly approval?: { readonly proposalId: string; readonly approvedBy: string; readonly approvedByName: string };
}

const hashOf = (record: Omit<OperatorAction, 'hash'>): Buffer =>
  createHash('sha256')
    .update(
      JSON.stringify([
        record.sequence,
        record.happenedAt,
        record.actor,
        record.origin,
        record.action,
        record.clientId,
        record.subjectId,
        record.reason,
        record.before,
        record.after,
        record.actorName,
        record.sessionId,
        record.role,
        record.proposalId,
        record.approvedBy,
        record.approvedByName,
        record.previousHash.toString('hex'),
      ]),
    )
    .digest();

/** What one action does in its database transaction, and what is recorded about it. */
export interface Recorded<T> {
  readonly result: T;
  /** Null when nothing was done, so nothing is recorded. */
  readonly record: ActionRecord | null;
  /** A further record, of what another person had proposed. */
  readonly next?: { readonly actor: Actor; readonly record: ActionRecord };
}

type ActionRecord = Omit<NewOperatorAction, keyof Actor>;

/**
 * Runs an action and records it, both in one database transaction: neither is stored without the other. `work` gets a
 * database whose statements belong to that transaction. `timeoutMs` is the deadline of each statement, for work that
 * takes longer than others may.
 */
export function recordingAction<T>(
  database: Database,
  actor: Actor,
  work: (inside: Database) => Promise<Recorded<T>>,
  timeoutMs?: number,
): Promise<T> {
  return database.transaction(
    async (query) => {
      const { result, record, next } = await work(insideOf(database, query, timeoutMs));
      if (record !== null) await appendAction(query, actor, record);
      if (next !== undefined) await appendAction(query, next.actor, next.record);
      return result;
    },
    timeoutMs === undefined ? {} : { timeoutMs },
  );
}

const insideOf = (database: Database, query: Query, outerTimeoutMs = 0): Database => ({
  query: async (sql, values) => (await query(sql, values)).rows as never[],
  transaction(work, { timeoutMs = 0 } = {}) {
    if (timeoutMs <= outerTimeoutMs) return work(query);
    return Promise.reject(new Error(`the recorded action needs a timeoutMs of ${timeoutMs}, as its work has`));
  },
  connections: database.connections,
  distributed: database.distributed,
  close: () => Promise.reject(new Error('a database transaction cannot close its pool')),
});

/** Call it last: other actions wait for the end of the chain until this transaction ends. */
async function appendAction(query: Query, actor: Actor, record: ActionRecord): Promise<void> {
  const { rows } = await query<{ last_sequence: string; last_hash: Buffer; now: Date }>(
    'select last_sequence, last_hash, clock_timestamp() as now from tiba.operator_actions_end for update',
  );
  const [end] = rows;
  if (end === undefined) throw new Error('the end of the chain of operator actions is missing');
  const { person, approval } = actor;
  const numbered = {
    actor: actor.actor,
    origin: actor.origin,
    ...record,
    actorName: person?.name ?? null,
    sessionId: person?.sessionId ?? null,
    role: person?.role ?? null,
    proposalId: approval?.proposalId ?? null,
    approvedBy: approval?.approvedBy ?? null,
    approvedByName: approval?.approvedByName ?? null,
    sequence: Number(end.last_sequence) + 1,
    happenedAt: end.now.toISOString(),
    previousHash: end.last_hash,
  };
  // A trigger moves the end of the chain.
  await query(
    `insert into tiba.operator_actions (${COLUMNS})
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`,
    [
      numbered.sequence,
      numbered.happenedAt,
      numbered.actor,
      numbered.origin,
      numbered.action,
      numbered.clientId,
      numbered.subjectId,
      numbered.reason,
      numbered.before,
      numbered.after,
      numbered.actorName,
      numbered.sessionId,
      numbered.role,
      numbered.proposalId,
      numbered.approvedBy,
      numbered.approvedByName,
      numbered.previousHash,
      hashOf(numbered),
    ],
  );
}

/** Null where a condition is not given. Times are ISO 8601 UTC. */
export interface ActionFilter {
  readonly actor: string | null;
  readonly action: string | null;
  readonly clientId: string | null;
  readonly subjectId: string | null;
  /** From this time on. */
  readonly from: string | null;
  /** Before this time. */
  readonly to: string | null;
}

/** Actions before the one with this sequence, the latest first; from the latest where `before` is null. */
export async function listOperatorActions(
  database: Database,
  filter: ActionFilter,
  { before, limit }: { readonly before: number | null; readonly limit: number },
): Promise<OperatorAction[]> {
  const rows = await database.query<ActionRow>(LIST_SQL, [
    filter.actor,
    filter.action,
    filter.clientId,
    filter.subjectId,
    filter.from,
    filter.to,
    before,
    limit,
  ]);
  return rows.map(toAction);
}

/** What was done with any of these, the latest first. */
export async function listActionsAbout(
  database: Database,
  { clientId, subjectIds }: { readonly clientId: string; readonly subjectIds: readonly string[] },
  limit: number,
): Promise<OperatorAction[]> {
  const rows = await database.query<ActionRow>(
    `select ${COLUMNS} from tiba.operator_actions
      where subject_id = any ($1) and client_id = $2 order by sequence desc limit $3`,
    [subjectIds, clientId, limit],
  );
  return rows.map(toAction);
}

const COLUMNS = `sequence, happened_at, actor, origin, action, client_id, subject_id, reason, before, after,
            actor_name, session_id, role, proposal_id, approved_by, approved_by_name, previous_hash, hash`;

/** Of `listOperatorActions`. Each text filter has an index that ends with the sequence. */
export const LIST_SQL = `
  select ${COLUMNS} from tiba.operator_actions
   where sequence < coalesce($7::bigint, 9223372036854775807)
     and ($1::text is null or actor = $1) and ($2::text is null or action = $2)
     and ($3::text is null or client_id = $3) and ($4::text is null or subject_id = $4)
     and ($5::timestamptz is null or happened_at >= $5) and ($6::timestamptz is null or happened_at < $6)
   order by sequence desc limit $8`;

interface ActionRow extends Record<string, unknown> {
  sequence: string;
  happened_at: Date;
  actor: string;
  origin: string;
  action: string;
  client_id: string | null;
  subject_id: string | null;
  reason: string | null;
  before: string | null;
  after: string | null;
  actor_name: string | null;
  session_id: string | null;
  role: string | null;
  proposal_id: string | null;
  approved_by: string | null;
  approved_by_name: string | null;
  previous_hash: Buffer;
  hash: Buffer;
}

const toAction = (row: ActionRow): OperatorAction => ({
  sequence: Number(row.sequence),
  happenedAt: row.happened_at.toISOString(),
  actor: row.actor,
  origin: row.origin,
  action: row.action,
  clientId: row.client_id,
  subjectId: row.subject_id,
  reason: row.reason,
  before: row.before,
  after: row.after,
  actorName: row.actor_name,
  sessionId: row.session_id,
  role: row.role,
  proposalId: row.proposal_id,
  approvedBy: row.approved_by,
  approvedByName: row.approved_by_name,
  previousHash: row.previous_hash,
  hash: row.hash,
});

export interface ChainReport {
  /** How many records were read. */
  readonly records: number;
  /** What is wrong, each with the sequence where it shows. Empty when the chain is whole. */
  readonly faults: readonly string[];
  /** Of the last record, in hexadecimal: to compare with a copy that is kept elsewhere. */
  readonly lastHash: string;
}

const VERIFY_BATCH = 1_000;
const FAULTS_MAX = 20;

/** Reads all records in order and checks that they fit together, up to the end that is stored. */
export async function verifyOperatorActions(database: Database): Promise<ChainReport> {
  // Read first, so that records that are added meanwhile come after it. It is one statement, so that the records beyond
  // the end are none of those: a record and the end that has it are committed together.
  const [end] = await database.query<{ last_sequence: string; last_hash: Buffer; beyond: string }>(
    `select last_sequence, last_hash,
            (select count(*) from tiba.operator_actions where sequence > last_sequence) as beyond
       from tiba.operator_actions_end`,
  );
  if (end === undefined) return { records: 0, faults: ['the end of the chain is missing'], lastHash: '' };
  const faults: string[] = [];
  let sequence = 0;
  let previousHash: Buffer = Buffer.alloc(0);
  let records = 0;
  const lastSequence = Number(end.last_sequence);
  for (;;) {
    const rows = await database.query<ActionRow>(
      `select ${COLUMNS} from tiba.operator_actions where sequence > $1 and sequence <= $2 order by sequence limit $3`,
      [sequence, lastSequence, VERIFY_BATCH],
    );
    for (const record of rows.map(toAction)) {
      const missing = record.sequence - sequence - 1;
      if (missing > 0) faults.push(`${missing} before ${record.sequence} missing`);
      else if (!record.previousHash.equals(previousHash))
        faults.push(`${record.sequence} does not follow the one before`);
      if (!hashOf(record).equals(record.hash)) faults.push(`${record.sequence} was changed`);
      [sequence, previousHash] = [record.sequence, record.hash];
      records += 1;
    }
    if (rows.length < VERIFY_BATCH) break;
  }
  if (sequence < lastSequence) faults.push(`${lastSequence - sequence} at the end missing`);
  else if (!previousHash.equals(end.last_hash)) faults.push(`${sequence} is not the record that was stored last`);
  if (end.beyond !== '0') faults.push(`${end.beyond} after the end were added by force`);
  return { records, faults: faults.slice(0, FAULTS_MAX), lastHash: end.last_hash.toString('hex') };
}
