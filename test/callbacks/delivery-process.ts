import pino from 'pino';
import { createSeal } from '../../apps/server/src/auth/secrets.ts';
import { createDispatcher } from '../../apps/server/src/callbacks/dispatcher.ts';
import { createCallbackSender } from '../../apps/server/src/callbacks/send.ts';
import { createMetrics } from '../../apps/server/src/observability/metrics.ts';
import { createGuardedHttp } from '../../apps/server/src/outbound/guarded-http.ts';
import { openDatabase } from '../../apps/server/src/postgres/database.ts';
import { listenForDue } from '../support/due-notices.ts';

/**
 * A process that delivers until it is killed. Arguments: a connection string, and the base64 key that seals secrets.
 */
const [connectionString = '', secretKey = ''] = process.argv.slice(2);
const connection = { connectionString };
const log = pino({ level: 'silent' });
const http = createGuardedHttp({ policy: { ports: [], allowed: [], loopbackHttp: true } });
const seal = createSeal(Buffer.from(secretKey, 'base64'));
const { dueNotices, listening } = listenForDue(connection, log);
createDispatcher({
  database: openDatabase({ connection, connectionsMax: 2, log }),
  dueNotices,
  send: createCallbackSender({ http, seal }),
  log,
  metrics: createMetrics(),
});
await listening;
process.send?.('ready');
// The parent process may die first.
process.on('disconnect', () => process.exit());
