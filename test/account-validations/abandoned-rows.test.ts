import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { validationsOf } from './validations.ts';

const STEADY_MS = 5_000;

/** Stores a validation of alpha with one row, which another process claimed a minute ago. */
async function storeRowInFlight({ app, alpha }: TestService): Promise<string> {
  const validationId = `av_${'0'.repeat(20)}`;
  await app.database.query(
    `insert into tiba.account_validations (client_id, validation_id, row_count) values ($1, $2, 1)`,
    [alpha.clientId, validationId],
  );
  await app.database.query(
    `insert into tiba.account_validation_rows
       (client_id, validation_id, row_number, bank_code, account_number, bic, state, claimed_at)
     values ($1, $2, 1, 'BRI', '5550001112', 'BRINIDJA', 'in_flight', now() - interval '1 minute')`,
    [alpha.clientId, validationId],
  );
  return validationId;
}

/**
 * Regression: the look that follows an upload counted as a steady look of one second. Six uploads after an outage of
 * PostgreSQL ended rows of which another process still held the results.
 */
test('uploads do not shorten the time for which PostgreSQL must answer before abandoned rows end', async (context) => {
  const startedMs = performance.now();
  const service = await startTestService();
  context.after(() => service.close());
  const id = await storeRowInFlight(service);
  const validations = validationsOf(service);
  for (let upload = 0; upload < 8; upload += 1)
    await validations.create([{ bank_code: 'BRI', account_number: '5550001113' }]);
  await eventually('the abandoned row has ended', async () => (await validations.progress(id)).state === 'COMPLETED');
  const tookMs = performance.now() - startedMs;
  assert.ok(tookMs >= STEADY_MS, `it ended after ${tookMs} ms`);
  const [result] = await validations.results(id);
  assert.equal(result?.error_code, 'SERVICE_UNAVAILABLE');
});
