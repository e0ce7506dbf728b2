import type { Database } from '../postgres/database.ts';
import { endProposalsOf } from '../postgres/operator-proposals.ts';
import { revokeSessions, type SessionRecord } from '../postgres/operator-sessions.ts';

/** The sessions of one person, or one session. */
export interface WhoseSessions {
  readonly subject: string | null;
  readonly sessionId: string | null;
}

/** What has ended, and what is recorded about it. */
export interface RevokedSessions {
  readonly sessions: number;
  readonly outdatedProposals: readonly string[];
  /** Null when nothing has ended. */
  readonly change: { readonly subjectId: string; readonly before: string; readonly after: string | null } | null;
}

/**
 * Ends sessions, and the pending proposals that were made in them: what a person whose access ends has asked for must
 * not be done later. A command and the operator API do it alike.
 */
export async function revokePersonSessions(inside: Database, whose: WhoseSessions): Promise<RevokedSessions> {
  const ended = await revokeSessions(inside, whose);
  const outdatedProposals = await endProposalsOf(inside, whose);
  const after = outdatedProposals.length === 0 ? null : JSON.stringify({ outdated_proposals: outdatedProposals });
  const isNothing = ended.length === 0 && after === null;
  const subjectId = whose.subject ?? whose.sessionId ?? '';
  const change = isNothing ? null : { subjectId, before: JSON.stringify(ended.map(sessionJson)), after };
  return { sessions: ended.length, outdatedProposals, change };
}

/** A session as operators see it. */
export const sessionJson = (session: SessionRecord) => ({
  session_id: session.sessionId,
  issuer: session.issuer,
  subject: session.subject,
  name: session.name,
  role: session.role,
  origin: session.origin,
  created_at: session.createdAt,
  last_used_at: session.lastUsedAt,
  expires_at: session.expiresAt,
});
