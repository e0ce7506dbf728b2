import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { addDeliveryJob } from '../../apps/server/src/postgres/delivery-jobs.ts';
import { eventually } from '../support/eventually.ts';
import { type Answer, CLIENT_SCOPES } from '../support/service.ts';
import { type Caller, createCaller, readStatus } from './caller.ts';
import { createWitness, type Witness } from './consistency-log.ts';
import type { Stage } from './context.ts';
import { detailsOf } from './details.ts';
import { type Circumstances, expectedData, feedWord } from './feed-message.ts';
import type { Model, Said } from './model.ts';

/** One history: a client of its own, and what happens to it. */
export interface History extends Stage {
  readonly circumstances: Circumstances;
  readonly caller: Caller;
  readonly witness: Witness;
}

const CREATED_BEFORE_MS = 100 * 60 * 60_000;

export async function beginHistory(stage: Stage): Promise<History> {
  const clientId = `client-${randomBytes(5).toString('hex')}`;
  return {
    ...stage,
    circumstances: { clientId, begunMs: Date.now() - CREATED_BEFORE_MS },
    caller: await createCaller(stage.service, stage.database, clientId, CLIENT_SCOPES),
    witness: createWitness(),
  };
}

/** Starts the service again on what the killed process has left. */
export async function revive({ service }: Stage): Promise<void> {
  await service.kill();
  assert.ok(await service.start(), 'the service starts after it was killed');
}

/** Feeds as a core does: what was not acknowledged is sent again. Null when the first try was not acknowledged. */
export async function feed(
  history: History,
  words: readonly Said[],
  kill?: () => Promise<void>,
): Promise<Answer | null> {
  const texts = words.map((word) => feedWord(word, history.circumstances));
  const sent = history.core.feed(texts).catch((error: unknown) => {
    if (kill === undefined) throw error;
    return null;
  });
  if (kill !== undefined) {
    await kill();
    await revive(history);
  }
  const first = await sent;
  if (first?.status === 200) return first;
  await until('the feed is acknowledged', async () => {
    const { status, text } = await history.core.feed(texts);
    assert.ok(status === 200 || status === 503, text);
    return status === 200;
  });
  return null;
}

/** Reads a transaction and holds it against the model. */
export async function look(history: History, model: Model, about: number): Promise<void> {
  const known = model.transactions.get(about);
  const { transactionId } = detailsOf(about);
  if (known === undefined) {
    const answer = await history.caller.call('GET', `/api/v1/check-status/${transactionId}`);
    assert.equal(answer.json.error_code, 'TRANSACTION_NOT_FOUND', answer.text);
    return;
  }
  const { data, version } = await readStatus(history.caller, transactionId);
  history.witness.saw({ transactionId, version, data, by: 'GET' });
  assert.equal(data, expectedData(known, history.circumstances, data));
  assert.equal(version, known.version, `the version of ${data}`);
}

/**
 * Time passes until everything that is pending is due: leases of killed processes end, retries come up. The rows are
 * moved, not the clock.
 */
export async function letDeliveriesComeDue({ database, circumstances: { clientId } }: History): Promise<void> {
  await database.transaction(async (query) => {
    const { rows } = await query<{ endpoint_id: string }>(
      `update tiba.callback_deliveries d set next_attempt_at = now()
         from (select client_id, endpoint_id, sequence from tiba.callback_deliveries
                where client_id = $1 and state = 'pending' order by endpoint_id, sequence for no key update) p
        where d.client_id = p.client_id and d.endpoint_id = p.endpoint_id and d.sequence = p.sequence
       returning d.endpoint_id`,
      [clientId],
    );
    const endpoints = [...new Set(rows.map((row) => row.endpoint_id))].sort();
    for (const endpointId of endpoints) await addDeliveryJob(query, { clientId, endpointId });
  });
}

/** So much time passes that what a killed process was asking may be asked by another. */
export async function letQuestionsComeDue({ database, circumstances: { clientId } }: History): Promise<void> {
  await database.query(
    `update tiba.status_inquiries set claimed_until = null, last_inquired_at = null, next_at = now() where client_id = $1`,
    [clientId],
  );
}

const WITHIN_MS = 30_000;

/** Asks again until it holds. */
export const until = (what: string, holds: () => boolean | Promise<boolean>): Promise<void> =>
  eventually(what, holds, WITHIN_MS);
