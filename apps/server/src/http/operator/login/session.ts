import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { actorOfPerson, csrfTokenOf, type OperatorSessions } from '../../../auth/operator-sessions.ts';
import { ROLES, rolesUpTo } from '../../../auth/roles.ts';
import { englishOnly } from '../../../lib/bilingual-text.ts';
import type { Database } from '../../../postgres/database.ts';
import { recordingAction } from '../../../postgres/operator-actions.ts';
import { sendOperatorSuccess } from '../../envelope.ts';
import { allowEmptyBody } from '../../request-body.ts';
import { errorResponses, successResponse, Timestamp, UNAUTHENTICATED_ERRORS } from '../../schemas.ts';
import { actorOf } from '../action-request.ts';
import { type BrowserSessions, personOf } from './browser-sessions.ts';
import type { Cookie } from './session-cookie.ts';

export interface SessionDependencies {
  readonly database: Database;
  readonly sessions: Pick<OperatorSessions, 'end'>;
  readonly browserSessions: Pick<BrowserSessions, 'requireRole'>;
  readonly cookie: Cookie;
  /** The kinds of changes that a second person must approve. */
  readonly fourEyes: readonly string[];
}

/** The session of the person who asks, and its end. */
export function ownSession(app: FastifyInstance, dependencies: SessionDependencies): void {
  const { database, sessions, browserSessions, cookie, fourEyes } = dependencies;
  const requirePerson = browserSessions.requireRole('viewer');

  app.get('/operator/v1/session', { onRequest: requirePerson, schema: readSessionSchema }, async (request, reply) => {
    const person = personOf(request);
    const { sessionId, subject, name, role, expiresAt } = person;
    const data = {
      person: {
        actor: actorOfPerson(person),
        session_id: sessionId,
        subject,
        name,
        roles: rolesUpTo(role),
        expires_at: expiresAt,
      },
      four_eyes: fourEyes,
      csrf_token: csrfTokenOf(secretOf(request)),
    };
    return sendOperatorSuccess(reply, 'Session found', JSON.stringify(data));
  });

  app.delete(
    '/operator/v1/session',
    { onRequest: [requirePerson, allowEmptyBody], schema: endSessionSchema },
    async (request, reply) => {
      const { sessionId } = personOf(request);
      await recordingAction(database, actorOf(request), async (inside) => {
        const isEnded = await sessions.end(inside, sessionId);
        const record = { action: 'session end', clientId: null, subjectId: sessionId, reason: null };
        return { result: null, record: isEnded ? { ...record, before: null, after: null } : null };
      });
      return sendOperatorSuccess(reply.headers(cookie.removal), 'You are logged out', '{"ended":true}');
    },
  );

  function secretOf(request: FastifyRequest): string {
    return cookie.read(request) ?? '';
  }
}

const text = (description: string, example: string) => Type.String({ description, examples: [example] });

const SessionSchema = Type.Object(
  {
    person: Type.Object(
      {
        actor: text('As proposals and the record of actions name the person.', 'person:https://login.example.com#siti'),
        session_id: text('This session, in lists and records. It opens nothing.', 'os_5f0c1d2e3b4a59687786'),
        subject: text('The `sub` of the login.', 'siti@example.com'),
        name: text('For people.', 'Siti Rahma'),
        roles: Type.Array(Type.Enum([...ROLES], { title: 'Role' }), {
          description: 'The role of the login and those that it includes, the highest last.',
          examples: [['viewer', 'support']],
        }),
        expires_at: Timestamp,
      },
      { title: 'SessionPerson', additionalProperties: false },
    ),
    four_eyes: Type.Array(text('A kind of change.', 'limits'), {
      description: 'The kinds of changes that a second person must approve.',
    }),
    csrf_token: text('For the header `X-CSRF-Token` of each request that changes something.', 'l2Hh0Zc9rB1n'),
  },
  { title: 'OperatorSession', additionalProperties: false },
);

const common = { tags: ['Sessions'], security: [{ session: [] }] };
const ERRORS = [
  ...UNAUTHENTICATED_ERRORS,
  'UNAUTHORIZED',
  'RATE_LIMIT_EXCEEDED',
  'NOT_ACCEPTABLE',
  'INTERNAL_ERROR',
] as const;

const readSessionSchema = {
  ...common,
  operationId: 'readSession',
  summary: 'Who is logged in',
  description: 'The person of the session cookie. 401 says where to log in. An access token has no session.',
  response: {
    200: successResponse(SessionSchema, englishOnly('Session found'), 'The session.'),
    ...errorResponses(['FORBIDDEN'], ERRORS),
  },
};

const endSessionSchema = {
  ...common,
  operationId: 'endSession',
  summary: 'Log out',
  description: 'The session ends in all processes, and the cookie is removed.',
  response: {
    200: successResponse(
      Type.Object(
        { ended: Type.Boolean({ description: 'Always true.' }) },
        { title: 'EndedSession', additionalProperties: false },
      ),
      englishOnly('You are logged out'),
      'The session has ended.',
    ),
    ...errorResponses(['FORBIDDEN', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'], ERRORS),
  },
};
