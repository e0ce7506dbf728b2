import { createLoginLink, LINK_MINUTES } from '../auth/login-links.ts';
import { actorOfPerson } from '../auth/operator-sessions.ts';
import { isRole, ROLES } from '../auth/roles.ts';
import type { Settings } from '../config.ts';
import type { Database } from '../postgres/database.ts';
import { isSandboxDatabase } from '../postgres/login-links.ts';
import { endProposalsOf } from '../postgres/operator-proposals.ts';
import { listLiveSessions, revokeSessions, type SessionRecord } from '../postgres/operator-sessions.ts';
import { type Command, type CommandResult, type Options, UsageError } from './manage-command.ts';

const LISTED_MAX = 1_000;

/** People on the operator listener. */
export const SESSION_COMMANDS: Readonly<Record<string, Command>> = {
  'session list': {
    summary: 'list who is logged in',
    options: ['person'],
    readOnly: true,
    async run(database, _id, { person = null }, { operatorIdleMinutes }) {
      const filter = { subject: person, idleSeconds: operatorIdleMinutes * 60, limit: LISTED_MAX };
      const sessions = await listLiveSessions(database, filter);
      return {
        document: { sessions: sessions.map(sessionDocument) },
        text: sessions.length === 0 ? 'No person is logged in.' : sessions.map(describeSession).join('\n'),
      };
    },
  },

  'session revoke': {
    summary: 'log a person out, in all processes at once',
    description:
      'Their identity provider still lets them log in again: take the role away there first. Their pending proposals ' +
      'become outdated.',
    options: ['person', 'session'],
    needsReason: true,
    async run(database, _id, { person = null, session = null }) {
      if (person === null && session === null)
        throw new UsageError('give --person, for all sessions of a person, or --session, for one');
      const revoked = await revokeSessions(database, { subject: person, sessionId: session });
      const proposer = person === null ? null : actorOfPerson(person);
      const proposals = await endProposalsOf(database, { proposer, sessionId: session });
      const before = JSON.stringify(revoked.map(sessionDocument));
      const after = proposals.length === 0 ? null : JSON.stringify({ outdated_proposals: proposals });
      return {
        document: { revoked: revoked.length, outdated_proposals: proposals },
        text: `sessions that have ended: ${revoked.length}; proposals that are outdated: ${proposals.length}`,
        change: revoked.length === 0 && after === null ? null : { subjectId: person ?? session ?? '', before, after },
      };
    },
  },

  'session link': {
    summary: 'in the sandbox: a link that logs a person in',
    description: `It works once, within ${LINK_MINUTES} minutes. In production, people log in by OpenID Connect.`,
    options: ['person', 'name', 'role'],
    run: makeLink,
  },
};

async function makeLink(
  database: Database,
  _id: string,
  { person = 'sandbox', name = person, role = 'approver' }: Options,
  { operatorUrl, operatorHost, operatorPort }: Settings,
): Promise<CommandResult> {
  if (!(await isSandboxDatabase(database)))
    throw new UsageError('links are for the sandbox only: people log in at /operator/login, by OpenID Connect');
  if (!isRole(role)) throw new UsageError(`--role takes one of: ${ROLES.join(' ')}`);
  const url = operatorUrl ?? `http://${operatorHost}:${operatorPort}`;
  const link = await createLoginLink(database, url, { subject: person, name, role });
  const after = JSON.stringify({ subject: person, name, role });
  return { document: { link }, text: link, change: { subjectId: person, before: null, after } };
}

const sessionDocument = (session: SessionRecord) => ({
  session_id: session.sessionId,
  subject: session.subject,
  name: session.name,
  role: session.role,
  origin: session.origin,
  created_at: session.createdAt,
  last_used_at: session.lastUsedAt,
  expires_at: session.expiresAt,
});

const describeSession = ({ sessionId, subject, name, role, origin, lastUsedAt }: SessionRecord): string =>
  [sessionId, subject, name, role, `from ${origin}`, `last used ${lastUsedAt}`].join('\t');
