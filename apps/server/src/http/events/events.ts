import type { FastifyInstance } from 'fastify';
import { eventId } from '../../domain/event.ts';
import type { Database } from '../../postgres/database.ts';
import { type Event, listEvents } from '../../postgres/events.ts';
import { type Authorize, callerOf } from '../authorize.ts';
import { sendSuccess } from '../envelope.ts';
import { queryParameters, wholeNumber } from '../query-parameters.ts';
import { EVENTS_DEFAULT, EVENTS_FOUND, EVENTS_MAX, listEventsSchema, SEQUENCE_MAX } from './schema.ts';

/** Lists a client's events in order and without gaps: the same events that callbacks deliver. */
export function eventOperations(app: FastifyInstance, authorize: Authorize, database: Database): void {
  const onRequest = authorize({ scope: 'events:read', limitedOperation: 'events' });

  app.get('/api/v1/events', { onRequest, schema: listEventsSchema }, async (request, reply) => {
    const given = queryParameters(request.originalUrl, ['after', 'limit']);
    const after = wholeNumber(given.after, { name: 'after', min: 0, max: SEQUENCE_MAX, fallback: 0 });
    const limit = wholeNumber(given.limit, { name: 'limit', min: 1, max: EVENTS_MAX, fallback: EVENTS_DEFAULT });

    const found = await listEvents(database, callerOf(request).client.clientId, { after, limit: limit + 1 });
    const events = found.slice(0, limit);
    const nextAfter = events.at(-1)?.sequence ?? after;
    const hasMore = found.length > limit;
    const data = `{"events":[${events.map(eventJson).join(',')}],"next_after":${nextAfter},"has_more":${hasMore}}`;
    return sendSuccess(reply, EVENTS_FOUND, data);
  });
}

/** Assembled as text: the data is passed on as it was rendered, so that its amounts stay exact. */
const eventJson = ({ sequence, subjectId, version, kind, occurredAt, data }: Event): string =>
  `{"sequence":${sequence},"event_id":"${eventId(subjectId, version)}","type":"${kind}"` +
  `,"timestamp":"${occurredAt}","version":${version},"data":${data}}`;
