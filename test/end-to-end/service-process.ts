// The service in a child process, which a test can kill at any moment and start again on the same database. The test
// decides the answers of its banks.

import { once } from 'node:events';
import { flushCompileCache } from 'node:module';
import { startApp } from '../../apps/server/src/app/start-app.ts';
import { readSettings } from '../../apps/server/src/config/config.ts';
import { createBankDirectory } from '../../apps/server/src/domain/bank.ts';
import bankEntries from '../../apps/server/src/domain/banks.json' with { type: 'json' };
import type { Rail } from '../../apps/server/src/rails/rail.ts';
import { warningsOnly } from '../support/warnings.ts';
import type { FromService, ServiceAddress, ServiceSettings, ToService } from './messages.ts';

// A killed process would not write its compile cache for the next one.
flushCompileCache();

const parentGone = new AbortController();
process.once('disconnect', () => parentGone.abort());
const [settings] = (await once(process, 'message', { signal: parentGone.signal }).catch(() => process.exit())) as [
  ServiceSettings,
];

const answers = new Map<number, (answer: Extract<ToService, { kind: 'answer' }>) => void>();
let inquiries = 0;

/** The parent may have exited a moment before this process. */
const send = (message: FromService): void => {
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
};

const scriptedRail = (name: string): Rail => ({
  name,
  reaches: () => false,
  inquireAccount: async () => ({ kind: 'no_verdict', reason: 'credentials_rejected', railCode: null }),
  // Ignores the abort signal: the test answers each inquiry at a time of its choice.
  inquireStatus: ({ reference }) =>
    new Promise((resolve, reject) => {
      const inquiry = (inquiries += 1);
      answers.set(inquiry, ({ outcome }) => {
        answers.delete(inquiry);
        if (outcome === 'garbage') reject(new Error('the bank sent an unreadable answer'));
        else resolve(outcome);
      });
      send({ kind: 'inquiry', inquiry, reference });
    }),
  close: async () => {},
});

const app = await startApp({
  environment: 'sandbox',
  settings: {
    ...readSettings('sandbox', {
      TIBA_PORT: '0',
      TIBA_OPERATOR_PORT: '0',
      TIBA_CHECK_STATUS_PER_MINUTE: '1000000',
      TIBA_TOKEN_SECONDS: '86400',
      TIBA_EVENT_LOOP_DELAY_MS: '0',
      TIBA_OVERDUE_MINUTES: String(settings.overdueMinutes),
    }),
    staleSeconds: settings.staleSeconds,
    secretKey: Buffer.alloc(32, 7),
  },
  connection: { connectionString: settings.connectionString },
  banks: createBankDirectory(bankEntries),
  rails: settings.rails.map(scriptedRail),
  logging: warningsOnly,
});

process.on('message', (message: ToService) => {
  if (message.kind === 'answer') answers.get(message.inquiry)?.(message);
  else
    app.transactionUpdater.markOverdue(new Date(message.now), message.limit).then(
      (count) => send({ kind: 'marked overdue', count }),
      () => send({ kind: 'marked overdue', count: null }),
    );
});
const address: ServiceAddress = { publicUrl: app.publicUrl, operatorUrl: app.operatorUrl };
send({ kind: 'ready', address });
