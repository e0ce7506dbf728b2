// A process that counts account inquiries and stores them until it is killed. Argument: a connection string.

import { randomUUID } from 'node:crypto';
import { startHourlyCounts } from '../../apps/server/src/bank-availability/hourly-counts.ts';
import { openDatabase } from '../../apps/server/src/postgres/database.ts';
import { createInquiryCounts } from '../../apps/server/src/rails/resilience/inquiry-counts.ts';
import { testBanks } from '../support/service.ts';
import { warningsOnly } from '../support/warnings.ts';

const [connectionString = ''] = process.argv.slice(2);
const { log } = warningsOnly;
const counts = createInquiryCounts();
const [bank] = testBanks.list();
if (bank === undefined) throw new Error('there are no banks');
const database = openDatabase({ connection: { connectionString }, connectionsMax: 1, log });
startHourlyCounts({
  database,
  processId: randomUUID(),
  inquiries: {
    takeCounts: () => counts.take().map(({ outcome, count, durations }) => ({ bank, outcome, count, durations })),
  },
  now: Date.now,
  log,
  intervalMs: 10,
});
let counted = 0;
setInterval(() => {
  counts.record({ kind: 'verdict', verdict: { status: 'NOT_FOUND' }, railCode: '00' }, 5);
  counted += 1;
  process.send?.(counted);
}, 1);
// The parent process may die first.
process.on('disconnect', () => process.exit());
