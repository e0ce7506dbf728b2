import type { FastifyReply, FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import { actorOfPerson, newSessionId, type OperatorSessions, type Person } from '../../../auth/operator-sessions.ts';
import { type BilingualText, englishOnly } from '../../../lib/bilingual-text.ts';
import type { Database } from '../../../postgres/database.ts';
import { recordingAction } from '../../../postgres/operator-actions.ts';
import { ApiError, bearerChallenge } from '../../errors.ts';
import type { Cookie } from './session-cookie.ts';

export interface LoginDependencies {
  readonly database: Database;
  readonly sessions: OperatorSessions;
  readonly cookie: Cookie;
  /** On each page of the login, before it does anything. */
  readonly limitLogins: onRequestAsyncHookHandler;
}

/** What a login has found out. */
export interface Login {
  readonly person: Person;
  /** As in `OperatorSessions.open`; null for a link, which has no issuer. */
  readonly loginId: string | null;
  /** From `returnPath`. */
  readonly returnTo: string;
}

/**
 * Begins a session, records it, and leads to the page. The session that this browser had before ends.
 * @throws ApiError UNAUTHORIZED when the login was used before
 */
export async function beginSession(
  { database, sessions, cookie }: LoginDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  { person, loginId, returnTo }: Login,
): Promise<FastifyReply> {
  const origin = request.ip;
  const issuer = loginId === null ? null : sessions.issuer;
  const inSession = { ...person, issuer, sessionId: newSessionId() };
  const formerSecret = cookie.read(request);
  const former = formerSecret === null ? null : await sessions.find(formerSecret);
  const actor = { actor: actorOfPerson(inSession), origin, person: inSession };
  const secret = await recordingAction(database, actor, async (inside) => {
    const opened = await sessions.open(inside, inSession, { origin, loginId });
    if (opened === null) return { result: null, record: null };
    if (former !== null) await sessions.end(inside, former.sessionId);
    const before = former === null ? null : JSON.stringify({ session_id: former.sessionId });
    const record = { action: 'session begin', clientId: null, subjectId: inSession.sessionId, reason: null };
    return { result: opened, record: { ...record, before, after: null } };
  });
  if (secret === null) throw loginRefused(englishOnly('This login was used before'));
  cookie.set(reply, secret, sessions.lifetimeSeconds);
  return reply.code(303).headers({ location: returnTo, 'cache-control': 'no-store' }).send();
}

/** The page, or the envelope, says what is wrong; the page leads to another attempt. */
export const loginRefused = (message: BilingualText, cause?: unknown): ApiError =>
  new ApiError('UNAUTHORIZED', { message, headers: bearerChallenge(), cause });
