import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { DUE_CHANNEL } from '../../apps/server/src/postgres/due-endpoints.ts';
import { FIELD_SEPARATOR, notify } from '../../apps/server/src/postgres/notification-payloads.ts';
import { eventually } from '../support/eventually.ts';
import { type Answer, CLIENT_SCOPES } from '../support/requests.ts';
import { type Caller, createCaller, readStatus } from './caller.ts';
import { type ConsistencyLog, createConsistencyLog } from './consistency-log.ts';
import type { EndToEndContext } from './context.ts';
import { detailsOf } from './details.ts';
import { expectedData, feedMessage, type HistoryContext } from './feed-message.ts';
import type { Model, Update } from './model.ts';

/** One history: a client of its own and everything that happens to its transactions. */
export interface History extends EndToEndContext {
  readonly context: HistoryContext;
  readonly caller: Caller;
  readonly consistencyLog: ConsistencyLog;
}

const CREATED_BEFORE_MS = 100 * 60 * 60_000;

export async function startHistory(environment: EndToEndContext): Promise<History> {
  const clientId = `client-${randomBytes(5).toString('hex')}`;
  return {
    ...environment,
    context: { clientId, startedMs: Date.now() - CREATED_BEFORE_MS },
    caller: await createCaller(environment.service, environment.database, clientId, CLIENT_SCOPES),
    consistencyLog: createConsistencyLog(),
  };
}

/** Kills the service if it runs, and starts it again on the same database. */
export async function restart({ service }: EndToEndContext): Promise<void> {
  await service.kill();
  assert.ok(await service.start(), 'the service starts after it was killed');
}

/** Feeds as a core does: an unacknowledged batch is sent again. Null when the first attempt was not acknowledged. */
export async function feed(
  history: History,
  updates: readonly Update[],
  kill?: () => Promise<void>,
): Promise<Answer | null> {
  const messages = updates.map((update) => feedMessage(update, history.context));
  const sent = history.core.feed(messages).catch((error: unknown) => {
    if (kill === undefined) throw error;
    return null;
  });
  if (kill !== undefined) {
    await kill();
    await restart(history);
  }
  const first = await sent;
  if (first?.status === 200) return first;
  await until('the feed is acknowledged', async () => {
    const { status, text } = await history.core.feed(messages);
    assert.ok(status === 200 || status === 503, text);
    return status === 200;
  });
  return null;
}

/** Reads a transaction and compares it with the model. */
export async function readAndCompare(history: History, model: Model, index: number): Promise<void> {
  const transaction = model.transactions.get(index);
  const { transactionId } = detailsOf(index);
  if (transaction === undefined) {
    const answer = await history.caller.call('GET', `/api/v1/check-status/${transactionId}`);
    assert.equal(answer.json.error_code, 'TRANSACTION_NOT_FOUND', answer.text);
    return;
  }
  const { data, version } = await readStatus(history.caller, transactionId);
  history.consistencyLog.record({ transactionId, version, data, by: 'GET' });
  assert.equal(data, expectedData(transaction, history.context, data));
  assert.equal(version, transaction.version, `the version of ${data}`);
}

/**
 * Makes all pending deliveries due, as if the leases of killed processes had expired and the retry delays had passed.
 * It changes the rows, not the clock.
 */
export async function makeDeliveriesDue({ database, context: { clientId } }: History): Promise<void> {
  await database.transaction(async (query) => {
    const { rows } = await query<{ endpoint_id: string }>(
      `update tiba.callback_outbox d set next_attempt_at = now(), claimed_until = null
         from (select client_id, endpoint_id, sequence from tiba.callback_outbox
                where client_id = $1 and state = 'pending' order by endpoint_id, sequence for no key update) p
        where d.client_id = p.client_id and d.endpoint_id = p.endpoint_id and d.sequence = p.sequence
       returning d.endpoint_id`,
      [clientId],
    );
    const endpoints = [...new Set(rows.map((row) => row.endpoint_id))].sort();
    // Without a sender, so that the service claims them and does not leave them to this process.
    const records = endpoints.map((endpointId) => [clientId, endpointId].join(FIELD_SEPARATOR));
    await notify(query, [{ channel: DUE_CHANNEL, records }]);
  });
}

/** Makes all status inquiries due, as if the claims of killed processes had expired. */
export async function makeInquiriesDue({ database, context: { clientId } }: History): Promise<void> {
  await database.query(
    `update tiba.status_inquiries set claimed_until = null, last_inquired_at = null, next_at = now()
      where client_id = $1`,
    [clientId],
  );
}

const DEADLINE_MS = 30_000;

/** Polls until the condition is true. */
export const until = (what: string, condition: () => boolean | Promise<boolean>): Promise<void> =>
  eventually(what, condition, DEADLINE_MS);
