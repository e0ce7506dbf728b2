// The service as production runs it, but for its data and its limits: with authentication, exact limits that nothing
// exceeds, metrics, and an access log that goes to a file.

import { createPrivateKey } from 'node:crypto';
import { startApp } from '../../apps/server/src/app/start-app.ts';
import { readSettings } from '../../apps/server/src/config.ts';
import { createBankDirectory } from '../../apps/server/src/domain/bank.ts';
import bankEntries from '../../apps/server/src/domain/banks.json' with { type: 'json' };
import { createLog } from '../../apps/server/src/observability/log.ts';
import type { SnapSettings } from '../../apps/server/src/rails/snap/settings.ts';
import { createSnapRail } from '../../apps/server/src/rails/snap/snap-rail.ts';
import { liveAsChild } from '../as-child.ts';

export interface TibaServerSettings {
  readonly connectionString: string;
  /** In base64. The same for all that share a database. */
  readonly secretKey: string;
  readonly logFile: string;
  readonly clientId: string;
  /** Null leaves it to the service. */
  readonly batchMax: number | null;
  /** Null for a service that is asked about transactions only. */
  readonly rail: BenchRail | null;
}

/** A connection to a bank in a form that can be sent to another process: the key as PEM. */
export type BenchRail = Omit<SnapSettings, 'privateKey' | 'banks'> & { readonly privateKeyPem: string };

export interface TibaServerAddress {
  readonly publicUrl: string;
  readonly operatorUrl: string;
  readonly token: string;
}

const TOKEN_SECONDS = 3_600;

await liveAsChild<TibaServerAddress>(async (sent) => {
  const given = sent as TibaServerSettings;
  // Only what is named here: whatever stands in the environment would change what is measured.
  const settings = readSettings('sandbox', { TIBA_PORT: '0', TIBA_OPERATOR_PORT: '0' });
  const logging = createLog(given.logFile, settings.logLevel);
  const app = await startApp({
    environment: 'sandbox',
    // Counted as exactly as any, and never reached.
    settings: { ...settings, accountsPerDay: 10_000_000, secretKey: Buffer.from(given.secretKey, 'base64') },
    connection: { connectionString: given.connectionString },
    banks: createBankDirectory(bankEntries),
    rails: given.rail === null ? [] : [createSnapRail(toSnapSettings(given.rail))],
    logging,
    ...(given.batchMax === null ? {} : { lookUp: { batchMax: given.batchMax } }),
  });
  await app.clients.reload();
  const client = app.clients.find(given.clientId);
  if (client === undefined) throw new Error(`the database has no client ${given.clientId}`);
  const token = await app.issue(client, [...client.scopes], TOKEN_SECONDS);
  return {
    address: { publicUrl: app.publicUrl, operatorUrl: app.operatorUrl, token },
    async close() {
      await app.close();
      await logging.close();
    },
  };
});

function toSnapSettings({ privateKeyPem, ...rail }: BenchRail): SnapSettings {
  return { ...rail, privateKey: createPrivateKey(privateKeyPem), banks: null };
}
