import type { FastifyInstance } from 'fastify';
import { eventId } from '../../domain/event.ts';
import type { BilingualText } from '../../lib/bilingual-text.ts';
import type { Database } from '../../postgres/database.ts';
import { type Event, listEvents } from '../../postgres/events.ts';
import { findCursorLimits } from '../../postgres/restores.ts';
import { type Authorize, callerOf } from '../authorize.ts';
import { sendSuccess } from '../envelope.ts';
import { cursorGone } from '../errors.ts';
import { searchParameters, wholeNumber } from '../query-parameters.ts';
import { EVENTS_DEFAULT, EVENTS_FOUND, EVENTS_MAX, listEventsSchema, SEQUENCE_MAX } from './schema.ts';

/** Lists a client's events in order and without gaps: the same events that callbacks deliver. */
export function eventOperations(app: FastifyInstance, authorize: Authorize, database: Database): void {
  const onRequest = authorize({ scope: 'events:read', limitedOperation: 'events' });

  app.get('/api/v1/events', { onRequest, schema: listEventsSchema }, async (request, reply) => {
    const given = searchParameters(request.originalUrl, ['after', 'limit']);
    const after = wholeNumber(given.after, { name: 'after', min: 0, max: SEQUENCE_MAX, fallback: 0 });
    const limit = wholeNumber(given.limit, { name: 'limit', min: 1, max: EVENTS_MAX, fallback: EVENTS_DEFAULT });

    const { clientId } = callerOf(request).client;
    const found = await listEvents(database, clientId, { after, limit: limit + 1 });
    // Only restores and the retention leave gaps, so most pages show that the cursor is right.
    if (after > 0 && found[0]?.sequence !== after + 1) {
      const { last, removedUpTo } = await findCursorLimits(database, clientId, after);
      if (last < after) throw cursorGone(lostEvents(last), `/api/v1/events?after=${last}`);
      if (removedUpTo > after) throw cursorGone(removedEvents(removedUpTo), `/api/v1/events?after=${removedUpTo}`);
    }
    const events = found.slice(0, limit);
    const nextAfter = events.at(-1)?.sequence ?? after;
    const hasMore = found.length > limit;
    const data = `{"events":[${events.map(eventJson).join(',')}],"next_after":${nextAfter},"has_more":${hasMore}}`;
    return sendSuccess(reply, EVENTS_FOUND, data);
  });
}

/** The reader has read events that were lost afterwards, when a backup of the database was restored. */
const lostEvents = (last: number): BilingualText => ({
  en:
    `There is no event with this number: the last one is ${last}. If you have read later ones, they were lost when ` +
    `the service was restored from a backup. Continue with after=${last}, and compare what you have read since with ` +
    'check-status',
  id:
    `Tidak ada event dengan nomor ini: yang terakhir adalah ${last}. Jika Anda sudah membaca yang setelahnya, event ` +
    `itu hilang saat layanan dipulihkan dari cadangan. Lanjutkan dengan after=${last}, lalu cocokkan yang sudah ` +
    'dibaca sejak itu dengan check-status',
});

/** The reader comes so late that events it has not read were removed after their retention time. */
const removedEvents = (last: number): BilingualText => ({
  en:
    `The events up to ${last} were removed, because they are older than events are kept. Continue with ` +
    `after=${last}, and compare what you have missed with check-status or the list of transactions`,
  id:
    `Event sampai ${last} sudah dihapus karena melewati masa penyimpanan event. Lanjutkan dengan after=${last}, ` +
    `lalu cocokkan yang terlewat dengan check-status atau daftar transaksi`,
});

/** Assembled as text: the data is passed on as it was rendered, so that its amounts stay exact. */
const eventJson = ({ sequence, subjectId, version, kind, occurredAt, data }: Event): string =>
  `{"sequence":${sequence},"event_id":"${eventId(subjectId, version)}","type":"${kind}"` +
  `,"timestamp":"${occurredAt}","version":${version},"data":${data}}`;
