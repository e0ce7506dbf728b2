import type { Database } from './database.ts';

/** Sessions of people on the operator listener. */

export interface SessionRecord {
  readonly sessionId: string;
  /** The identity provider; null where a link began it. */
  readonly issuer: string | null;
  readonly subject: string;
  readonly name: string;
  readonly role: string;
  /** The address from which the person logged in. */
  readonly origin: string;
  /** ISO 8601 UTC. */
  readonly createdAt: string;
  readonly lastUsedAt: string;
  readonly expiresAt: string;
}

interface SessionRow extends Record<string, unknown> {
  session_id: string;
  issuer: string | null;
  subject: string;
  name: string;
  role: string;
  origin: string;
  created_at: Date;
  last_used_at: Date;
  expires_at: Date;
}

const COLUMNS = 'session_id, issuer, subject, name, role, origin, created_at, last_used_at, expires_at';

const toRecord = (row: SessionRow): SessionRecord => ({
  sessionId: row.session_id,
  issuer: row.issuer,
  subject: row.subject,
  name: row.name,
  role: row.role,
  origin: row.origin,
  createdAt: row.created_at.toISOString(),
  lastUsedAt: row.last_used_at.toISOString(),
  expiresAt: row.expires_at.toISOString(),
});

export interface NewSession
  extends Pick<SessionRecord, 'sessionId' | 'issuer' | 'subject' | 'name' | 'role' | 'origin'> {
  /** SHA-256 of the cookie's value. */
  readonly secretHash: Buffer;
  /** SHA-256 of what identifies the login, which begins one session only; null where that is certain already. */
  readonly loginHash: Buffer | null;
  readonly lifetimeSeconds: number;
}

/** False when the login has begun a session before. */
export async function insertSession(database: Database, session: NewSession): Promise<boolean> {
  const { sessionId, secretHash, loginHash, issuer, subject, name, role, origin, lifetimeSeconds } = session;
  const rows = await database.query(
    `insert into tiba.operator_sessions
       (session_id, secret_hash, login_hash, issuer, subject, name, role, origin, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, now() + make_interval(secs => $9))
     on conflict (login_hash) do nothing returning session_id`,
    [sessionId, secretHash, loginHash, issuer, subject, name, role, origin, lifetimeSeconds],
  );
  return rows.length === 1;
}

const LIVE = 'revoked_at is null and expires_at > now() and last_used_at > now() - make_interval(secs => $1)';

/**
 * A session of another issuer than this one is none: the same subject there is another person. `isStale`: its last use
 * is a minute old or more, and should be stored.
 */
export async function findLiveSession(
  database: Database,
  secretHash: Buffer,
  { idleSeconds, issuer }: { readonly idleSeconds: number; readonly issuer: string | null },
): Promise<(SessionRecord & { readonly isStale: boolean }) | null> {
  const [row] = await database.query<SessionRow & { is_stale: boolean }>(
    `select ${COLUMNS}, last_used_at < now() - interval '1 minute' as is_stale
       from tiba.operator_sessions where secret_hash = $2 and ${LIVE} and (issuer is null or issuer = $3)`,
    [idleSeconds, secretHash, issuer],
  );
  return row === undefined ? null : { ...toRecord(row), isStale: row.is_stale };
}

export async function touchSession(database: Database, sessionId: string): Promise<void> {
  await database.query('update tiba.operator_sessions set last_used_at = now() where session_id = $1', [sessionId]);
}

/** The sessions that are not over, the latest first; of one person or of all. */
export async function listLiveSessions(
  database: Database,
  filter: { readonly subject: string | null; readonly idleSeconds: number; readonly limit: number },
): Promise<SessionRecord[]> {
  const rows = await database.query<SessionRow>(
    `select ${COLUMNS} from tiba.operator_sessions
      where ${LIVE} and ($2::text is null or subject = $2) order by created_at desc, session_id limit $3`,
    [filter.idleSeconds, filter.subject, filter.limit],
  );
  return rows.map(toRecord);
}

/** Ends all sessions of a person, or one. Null means any. Resolves to those that were not over. */
export async function revokeSessions(
  database: Database,
  { subject, sessionId }: { readonly subject: string | null; readonly sessionId: string | null },
): Promise<SessionRecord[]> {
  if (subject === null && sessionId === null) throw new Error('sessions are revoked by their person or by their ID');
  const rows = await database.query<SessionRow>(
    `update tiba.operator_sessions set revoked_at = now()
      where revoked_at is null and expires_at > now()
        and ($1::text is null or subject = $1) and ($2::text is null or session_id = $2)
      returning ${COLUMNS}`,
    [subject, sessionId],
  );
  return rows.map(toRecord);
}

/** Deletes at most `limit` sessions that ended before that time. Resolves to how many. */
export async function deleteOldSessions(database: Database, before: Date, limit: number): Promise<number> {
  const rows = await database.query(
    `delete from tiba.operator_sessions where session_id in
       (select session_id from tiba.operator_sessions where expires_at < $1 order by expires_at limit $2)
     returning session_id`,
    [before, limit],
  );
  return rows.length;
}
