import { createLoginLink, LINK_MINUTES } from '../auth/login-links.ts';
import { revokePersonSessions, sessionJson } from '../auth/revoke-sessions.ts';
import { isRole, ROLES } from '../auth/roles.ts';
import type { Settings } from '../config/config.ts';
import type { Database } from '../postgres/database.ts';
import { isSandboxDatabase } from '../postgres/login-links.ts';
import { listLiveSessions, type SessionRecord } from '../postgres/operator-sessions.ts';
import { findOperatorUrl } from '../sandbox/description-file.ts';
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
        document: { sessions: sessions.map(sessionJson) },
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
      const whose = { subject: person, sessionId: session };
      const { sessions, outdatedProposals, change } = await revokePersonSessions(database, whose);
      return {
        document: { revoked: sessions, outdated_proposals: outdatedProposals },
        text: `sessions that have ended: ${sessions}; proposals that are outdated: ${outdatedProposals.length}`,
        change,
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
  { operatorUrl, operatorHost, operatorPort, dataDirectory }: Settings,
): Promise<CommandResult> {
  if (!(await isSandboxDatabase(database)))
    throw new UsageError('links are for the sandbox only: people log in at /operator/login, by OpenID Connect');
  if (!isRole(role)) throw new UsageError(`--role takes one of: ${ROLES.join(' ')}`);
  const url = operatorUrl ?? (await findOperatorUrl(dataDirectory)) ?? `http://${operatorHost}:${operatorPort}`;
  const link = await createLoginLink(database, url, { subject: person, name, role });
  const after = JSON.stringify({ subject: person, name, role });
  return { document: { link }, text: link, change: { subjectId: person, before: null, after } };
}

const describeSession = ({ sessionId, subject, name, role, origin, lastUsedAt }: SessionRecord): string =>
  [sessionId, subject, name, role, `from ${origin}`, `last used ${lastUsedAt}`].join('\t');
