import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { SUBJECT_LENGTH_MAX } from '../../auth/operator-sessions.ts';
import { englishOnly } from '../../lib/bilingual-text.ts';
import type { Database } from '../../postgres/database.ts';
import { type ActionFilter, listOperatorActions, type OperatorAction } from '../../postgres/operator-actions.ts';
import { type Authorize, callerOf } from '../authorize.ts';
import { type Cursors, linkToNext } from '../cursors.ts';
import { sendOperatorSuccess } from '../envelope.ts';
import { LIMIT_DEFAULT, LIMIT_MAX, nextPage, pageParameters } from '../pages.ts';
import { searchParameters, timeRange, wholeNumber } from '../query-parameters.ts';
import { preferredType } from '../request-headers.ts';
import { accessToken, errorResponses, nullable, successResponse, Timestamp } from '../schemas.ts';
import { TEXT_LENGTH_MAX, textParameter } from './transactions/search-filter.ts';

export interface AuditDependencies {
  readonly authorize: Authorize;
  readonly database: Database;
  readonly cursors: Cursors;
}

const FILTERS = ['actor', 'action', 'client_id', 'subject_id', 'from', 'to'] as const;
const NDJSON = ['application/x-ndjson'] as const;
const BATCH_MAX = 250;
/** Of a person: the issuer and the subject. */
const ACTOR_LENGTH_MAX = 1_024;

/** What operators did, the latest first: a page as JSON, or all of it as NDJSON. */
export function listAudit(app: FastifyInstance, { authorize, database, cursors }: AuditDependencies): void {
  const onRequest = authorize({ scope: 'audit:read', alternativeTypes: NDJSON });

  app.get('/operator/v1/audit', { onRequest, schema: listAuditSchema }, async (request, reply) => {
    const parameters = searchParameters(request.originalUrl, [...FILTERS, 'limit', 'cursor']);
    const limit = wholeNumber(parameters.limit, { name: 'limit', min: 1, max: LIMIT_MAX, fallback: LIMIT_DEFAULT });
    const range = timeRange(parameters, 'from', 'to');
    const filter: ActionFilter = {
      actor: textParameter(parameters.actor, 'actor', ACTOR_LENGTH_MAX),
      action: textParameter(parameters.action, 'action'),
      clientId: textParameter(parameters.client_id, 'client_id'),
      subjectId: textParameter(parameters.subject_id, 'subject_id', SUBJECT_LENGTH_MAX),
      ...range,
    };
    const scope = { list: 'operator-audit', clientId: callerOf(request).client.clientId, filter } as const;
    const before = parameters.cursor === undefined ? null : Number(cursors.read(scope, parameters.cursor)[0]);
    if (preferredType(request.headers.accept, NDJSON) !== null) {
      // Read before the answer begins: while PostgreSQL is unavailable, the reader gets an error in the envelope.
      const first = await listOperatorActions(database, filter, { before, limit: BATCH_MAX });
      return reply
        .headers({ 'content-type': 'application/x-ndjson; charset=utf-8', 'cache-control': 'no-store' })
        .send(Readable.from(exported(first), { objectMode: false }));
    }
    const found = await listOperatorActions(database, filter, { before, limit: limit + 1 });
    const page = found.slice(0, limit);
    const last = found.length > limit ? page.at(-1) : undefined;
    const cursor = last === undefined ? null : cursors.issue(scope, [String(last.sequence)]);
    if (cursor !== null) reply.header('link', linkToNext(request.originalUrl, cursor));
    const data = { actions: page.map(actionJson), next_cursor: cursor, has_more: cursor !== null };
    return sendOperatorSuccess(reply, 'Actions found', JSON.stringify(data));

    /** An export that fails in between ends with a broken connection, never like a complete one. */
    async function* exported(start: readonly OperatorAction[]): AsyncGenerator<string> {
      for (let batch = start; ; ) {
        yield batch.map((action) => `${JSON.stringify(actionJson(action))}\n`).join('');
        const end = batch.at(-1);
        if (end === undefined || batch.length < BATCH_MAX) return;
        batch = await listOperatorActions(database, filter, { before: end.sequence, limit: BATCH_MAX });
      }
    }
  });
}

const actionJson = (action: OperatorAction): Record<string, unknown> => ({
  sequence: action.sequence,
  happened_at: action.happenedAt,
  actor: action.actor,
  origin: action.origin,
  action: action.action,
  client_id: action.clientId,
  subject_id: action.subjectId,
  reason: action.reason,
  before: action.before,
  after: action.after,
  actor_name: action.actorName,
  session_id: action.sessionId,
  role: action.role,
  proposal_id: action.proposalId,
  approved_by: action.approvedBy,
  approved_by_name: action.approvedByName,
  previous_hash: action.previousHash.toString('hex'),
  hash: action.hash.toString('hex'),
});

const text = (description: string, example: string) => Type.String({ description, examples: [example] });
const filter = (description: string, example: string, maxLength = TEXT_LENGTH_MAX) =>
  Type.Optional(Type.String({ description, minLength: 1, maxLength, examples: [example] }));
const HASH = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08';

const ActionSchema = Type.Object(
  {
    sequence: Type.Integer({ description: 'From 1, without gaps.', minimum: 1, examples: [1] }),
    happened_at: Timestamp,
    actor: text(
      '`person:` with the issuer of the login, `#` and the subject there (by a link of the sandbox: the subject ' +
        'alone); the client of a token; or `user:` and the system user of a command.',
      'person:https://login.example.com#siti',
    ),
    origin: text('The address of the request, or the host of the command.', '10.0.0.7'),
    action: text('What was done.', 'transaction unmask'),
    client_id: nullable(text('The client that it concerns.', 'shop-one'), 'null where it concerns none.'),
    subject_id: nullable(text('What it concerns.', 'TB2026112100000001'), 'null where it is the client itself.'),
    reason: nullable(text('Why.', 'Ticket 4711: the customer asks'), 'null for a command without `--reason`.'),
    before: nullable(text('What was changed, as JSON text.', '{"trusted":false}'), 'null where nothing was.'),
    after: nullable(text('What it was changed to.', '{"trusted":true}'), 'null where nothing was.'),
    actor_name: nullable(text('The name of the person.', 'Siti Rahma'), 'null for a machine and a command.'),
    session_id: nullable(text('The session of the person.', 'os_5f0c1d2e3b4a59687786'), 'null as above.'),
    role: nullable(text('The role of the person in that session.', 'support'), 'null as above.'),
    proposal_id: nullable(text('The proposal that was approved.', 'pr_5f0c1d2e3b4a59687786'), 'null without one.'),
    approved_by: nullable(
      text('The person who approved it.', 'person:https://login.example.com#budi'),
      'null without approval.',
    ),
    approved_by_name: nullable(text('The name of that person.', 'Budi Santoso'), 'null without approval.'),
    previous_hash: text('Of the record before; empty for the first.', HASH),
    hash: text('SHA-256 of this record and the one before.', HASH),
  },
  { title: 'OperatorAction', additionalProperties: false },
);

const listAuditSchema = {
  tags: ['Audit'],
  security: accessToken('audit:read'),
  operationId: 'listOperatorActions',
  summary: 'List what operators did, the latest first',
  description:
    'Each change and each look at what is masked, over this API or by command. One page as JSON; with `Accept: ' +
    'application/x-ndjson`, all of them as a stream.',
  querystring: Type.Object({
    actor: filter('Who did it.', 'ops', ACTOR_LENGTH_MAX),
    action: filter('What was done.', 'client trust'),
    client_id: filter('The client that it concerns.', 'shop-one'),
    subject_id: filter('A transaction, a delivery or a person.', 'TB2026112100000001', SUBJECT_LENGTH_MAX),
    from: Type.Optional(text('RFC 3339: at this time or later.', '2026-11-01T00:00:00Z')),
    to: Type.Optional(text('RFC 3339: before this time.', '2026-12-01T00:00:00Z')),
    ...pageParameters,
  }),
  response: {
    200: successResponse(
      Type.Object(
        { actions: Type.Array(ActionSchema), ...nextPage },
        { title: 'OperatorActionList', additionalProperties: false },
      ),
      englishOnly('Actions found'),
      'The actions. `Link` with `rel="next"` is the address of the next page (RFC 8288).',
      { headers: ['Link'], alternatives: { 'application/x-ndjson': '{"sequence":1,"action":"client trust"}\n' } },
    ),
    ...errorResponses(['INVALID_REQUEST']),
  },
};
