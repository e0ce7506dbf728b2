import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { SUBJECT_LENGTH_MAX } from '../../auth/operator-sessions.ts';
import { revokePersonSessions, sessionJson } from '../../auth/revoke-sessions.ts';
import { ROLES } from '../../auth/roles.ts';
import { isPlainText } from '../../domain/identifiers.ts';
import { englishOnly } from '../../lib/bilingual-text.ts';
import type { JsonObject } from '../../lib/exact-json.ts';
import { ownProperty } from '../../lib/own-property.ts';
import type { Database } from '../../postgres/database.ts';
import { recordingAction } from '../../postgres/operator-actions.ts';
import { listLiveSessions } from '../../postgres/operator-sessions.ts';
import type { Authorize } from '../authorize.ts';
import { sendOperatorSuccess } from '../envelope.ts';
import { invalidRequest, searchParameters, wholeNumber } from '../query-parameters.ts';
import { requireJson } from '../request-body.ts';
import { accessToken, errorResponses, nullable, successResponse, Timestamp } from '../schemas.ts';
import { actorOf, fieldsOf, reasonOf } from './action-request.ts';
import { actionSchema } from './action-schemas.ts';
import { textParameter } from './transactions/search-filter.ts';

export interface SessionsDependencies {
  readonly authorize: Authorize;
  readonly database: Database;
  readonly idleSeconds: number;
}

const LIMIT_MAX = 1_000;

/** Who is logged in, and the end of sessions of others. */
export function peopleSessions(app: FastifyInstance, { authorize, database, idleSeconds }: SessionsDependencies): void {
  app.get(
    '/operator/v1/sessions',
    { onRequest: authorize({ scope: 'operator:read', role: 'engineer' }), schema: listSessionsSchema },
    async (request, reply) => {
      const parameters = searchParameters(request.originalUrl, ['subject', 'limit']);
      const limit = wholeNumber(parameters.limit, { name: 'limit', min: 1, max: LIMIT_MAX, fallback: 100 });
      const subject = textParameter(parameters.subject, 'subject', SUBJECT_LENGTH_MAX);
      const found = await listLiveSessions(database, { subject, idleSeconds, limit: limit + 1 });
      const data = { sessions: found.slice(0, limit).map(sessionJson), has_more: found.length > limit };
      return sendOperatorSuccess(reply, 'Sessions found', JSON.stringify(data));
    },
  );

  app.post(
    '/operator/v1/sessions/revoke',
    { onRequest: [authorize({ scope: 'operator:write', role: 'engineer' }), requireJson], schema: revokeSchema },
    async (request, reply) => {
      const body = fieldsOf(request, ['subject', 'session_id', 'reason']);
      const reason = reasonOf(request);
      const [subject, sessionId] = [textIn(body, 'subject'), textIn(body, 'session_id')];
      if (subject === null && sessionId === null)
        throw invalidRequest(englishOnly('give subject, for all sessions of a person, or session_id, for one'));
      const revoked = await recordingAction(database, actorOf(request), async (inside) => {
        const { sessions, change } = await revokePersonSessions(inside, { subject, sessionId });
        const record = { action: 'session revoke', clientId: null, reason };
        return { result: sessions, record: change === null ? null : { ...record, ...change } };
      });
      return sendOperatorSuccess(reply, 'Sessions revoked', JSON.stringify({ revoked }));
    },
  );
}

function textIn(body: JsonObject, name: string): string | null {
  const value = ownProperty(body, name) ?? null;
  if (value === null) return null;
  if (typeof value === 'string' && value !== '' && isPlainText(value, SUBJECT_LENGTH_MAX)) return value;
  throw invalidRequest(englishOnly(`${name} must be a text without control characters`));
}

const text = (description: string, example: string) => Type.String({ description, examples: [example] });
const subjectText = text('The `sub` of the login.', 'siti@example.com');
const subjectParameter = Type.String({
  description: 'The `sub` of the login.',
  minLength: 1,
  maxLength: SUBJECT_LENGTH_MAX,
  examples: ['siti@example.com'],
});
const sessionId = text('The session.', 'os_5f0c1d2e3b4a59687786');

const SessionSchema = Type.Object(
  {
    session_id: sessionId,
    issuer: nullable(
      text('The identity provider of the login.', 'https://login.example.com/realms/staff'),
      'null for a link of the sandbox.',
    ),
    subject: subjectText,
    name: text('The name of the person.', 'Siti Rahma'),
    role: Type.Enum([...ROLES], { title: 'Role' }),
    origin: text('The address from which the person logged in.', '10.0.0.7'),
    created_at: Timestamp,
    last_used_at: Timestamp,
    expires_at: Timestamp,
  },
  { title: 'PersonSession', additionalProperties: false },
);

const listSessionsSchema = {
  tags: ['Sessions'],
  security: accessToken('operator:read'),
  operationId: 'listSessions',
  summary: 'List who is logged in, the latest login first',
  description: 'Sessions that are not over, of all people or of one. People need the role engineer.',
  querystring: Type.Object({
    subject: Type.Optional(subjectParameter),
    limit: Type.Optional(
      Type.Integer({ description: 'How many at most.', minimum: 1, maximum: LIMIT_MAX, default: 100, examples: [100] }),
    ),
  }),
  response: {
    200: successResponse(
      Type.Object(
        {
          sessions: Type.Array(SessionSchema),
          has_more: Type.Boolean({ description: 'Whether there are more than `limit`.' }),
        },
        { title: 'PersonSessionList', additionalProperties: false },
      ),
      englishOnly('Sessions found'),
      'The sessions.',
    ),
    ...errorResponses(['INVALID_REQUEST']),
  },
};

const revokeSchema = actionSchema({
  tag: 'Sessions',
  scope: 'operator:write',
  operationId: 'revokeSessions',
  summary: 'Log a person out',
  description:
    'All sessions of a person, or one of them, end at once in all processes. The person can log in again as long as ' +
    'the identity provider allows it. Their pending proposals become `outdated`. People need the role engineer.',
  message: 'Sessions revoked',
  params: {},
  body: { subject: Type.Optional(subjectParameter), session_id: Type.Optional(sessionId) },
  title: 'RevokeSessionsRequest',
  data: Type.Object(
    { revoked: Type.Integer({ description: 'How many sessions have ended.', minimum: 0, examples: [1] }) },
    { title: 'RevokedSessions', additionalProperties: false },
  ),
  errors: [],
});
