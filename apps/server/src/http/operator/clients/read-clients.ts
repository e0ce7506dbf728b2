import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { englishOnly } from '../../../lib/bilingual-text.ts';
import { listClients } from '../../../postgres/clients.ts';
import type { Database } from '../../../postgres/database.ts';
import { type Authorize, callerOf } from '../../authorize.ts';
import { type Cursors, linkToNext } from '../../cursors.ts';
import { sendOperatorSuccess } from '../../envelope.ts';
import { LIMIT_DEFAULT, LIMIT_MAX, nextPage, pageParameters } from '../../pages.ts';
import { searchParameters, wholeNumber } from '../../query-parameters.ts';
import { accessToken, errorResponses, successResponse } from '../../schemas.ts';
import { textParameter } from '../transactions/search-filter.ts';
import { ClientSchema, clientIdSchema, clientInPath, clientJson, getClient } from './client-resource.ts';

export interface ReadClientsDependencies {
  readonly authorize: Authorize;
  readonly database: Database;
  readonly cursors: Cursors;
}

/** The clients, page by page, and one of them. */
export function readClients(app: FastifyInstance, { authorize, database, cursors }: ReadClientsDependencies): void {
  const onRequest = authorize({ scope: 'operator:read' });

  app.get('/operator/v1/clients', { onRequest, schema: listClientsSchema }, async (request, reply) => {
    const parameters = searchParameters(request.originalUrl, ['q', 'limit', 'cursor']);
    const text = textParameter(parameters.q, 'q');
    const limit = wholeNumber(parameters.limit, { name: 'limit', min: 1, max: LIMIT_MAX, fallback: LIMIT_DEFAULT });
    const scope = { list: 'operator-clients', clientId: callerOf(request).client.clientId, filter: { text } } as const;
    const [after = ''] = parameters.cursor === undefined ? [] : cursors.read(scope, parameters.cursor);
    const found = await listClients(database, { after, text, limit: limit + 1 });
    const page = found.slice(0, limit);
    const last = found.length > limit ? page.at(-1) : undefined;
    const cursor = last === undefined ? null : cursors.issue(scope, [last.clientId]);
    if (cursor !== null) reply.header('link', linkToNext(request.originalUrl, cursor));
    const data = { clients: page.map(clientJson), next_cursor: cursor, has_more: cursor !== null };
    return sendOperatorSuccess(reply, 'Clients found', JSON.stringify(data));
  });

  app.get('/operator/v1/clients/:client_id', { onRequest, schema: readClientSchema }, async (request, reply) => {
    const client = await getClient(database, clientInPath(request));
    return sendOperatorSuccess(reply, 'Client found', JSON.stringify(clientJson(client)));
  });
}

const listClientsSchema = {
  tags: ['Clients'],
  security: accessToken('operator:read'),
  operationId: 'listClients',
  summary: 'List the clients with their scopes and limits',
  description: 'In the order of `client_id`, one page at a time.',
  querystring: Type.Object({
    q: Type.Optional(
      Type.String({
        description: 'Only clients whose `client_id` or name contains this text, in letters of any case.',
        examples: ['shop'],
      }),
    ),
    ...pageParameters,
  }),
  response: {
    200: successResponse(
      Type.Object(
        { clients: Type.Array(ClientSchema), ...nextPage },
        { title: 'OperatorClientList', additionalProperties: false },
      ),
      englishOnly('Clients found'),
      'The clients. `Link` with `rel="next"` is the address of the next page (RFC 8288).',
      { headers: ['Link'] },
    ),
    ...errorResponses(['INVALID_REQUEST']),
  },
};

const readClientSchema = {
  tags: ['Clients'],
  security: accessToken('operator:read'),
  operationId: 'readClient',
  summary: 'Read a client with its scopes and limits',
  description: 'A limit that is null is the default of the installation.',
  params: Type.Object({ client_id: clientIdSchema }),
  response: {
    200: successResponse(ClientSchema, englishOnly('Client found'), 'The client.'),
    ...errorResponses(['NOT_FOUND']),
  },
};
