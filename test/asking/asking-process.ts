// A process of its own that asks once what is due, for tests that kill it meanwhile.
// Arguments: the database's connection string, the bank's address, the time (ISO 8601).

import pino from 'pino';
import { createAsking } from '../../apps/server/src/asking/asking.ts';
import { createMetrics } from '../../apps/server/src/observability/metrics.ts';
import { openDatabase } from '../../apps/server/src/postgres/database.ts';
import { rsaKeys } from '../harness/rsa-keys.ts';
import { testBanks } from '../harness/service.ts';
import { createRail } from '../rails/connection.ts';
import { ledgerOn } from './harness.ts';

const [connectionString = '', bankUrl = '', now = ''] = process.argv.slice(2);
const log = pino();
const database = openDatabase({ connection: { connectionString }, connectionsMax: 2, log });
const asking = createAsking({
  database,
  ledger: ledgerOn(database),
  rails: [createRail(bankUrl, rsaKeys())],
  banks: testBanks,
  metrics: createMetrics(),
  log,
  staleMs: 10_000,
});
await asking.ask(new Date(now));
