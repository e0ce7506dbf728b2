// A process that makes the due status inquiries once, for tests that kill it in the meantime.
// Arguments: the database's connection string, the bank's address.

import pino from 'pino';
import { createMetrics } from '../../apps/server/src/observability/metrics.ts';
import { openDatabase } from '../../apps/server/src/postgres/database.ts';
import { createStatusInquiries } from '../../apps/server/src/status-inquiry/status-inquiries.ts';
import { createRail } from '../rails/connection.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { testBanks } from '../support/service.ts';
import { createTestUpdater } from './harness.ts';

const [connectionString = '', bankUrl = ''] = process.argv.slice(2);
const log = pino();
const database = openDatabase({ connection: { connectionString }, connectionsMax: 2, log });
const inquiries = createStatusInquiries({
  database,
  transactionUpdater: createTestUpdater(database),
  rails: [createRail(bankUrl, rsaKeys())],
  banks: testBanks,
  metrics: createMetrics(),
  log,
  staleMs: 10_000,
});
await inquiries.poll();
