// The service as a process that a test kills and restarts on the same database.

import { createPrivateKey, createPublicKey } from 'node:crypto';
import { startApp } from '../../apps/server/src/app/start-app.ts';
import { readSettings } from '../../apps/server/src/config/config.ts';
import { insertClient } from '../../apps/server/src/postgres/clients.ts';
import { createRail } from '../rails/connection.ts';
import { testBanks } from '../support/service.ts';
import { warningsOnly } from '../support/warnings.ts';

/** The first message to the process. */
export interface ServiceSettings {
  readonly connectionString: string;
  /** PEM. */
  readonly privateKey: string;
  /** The quota of each bank. */
  readonly perSecond: number;
  /** Each bank gets a rail. */
  readonly banks: readonly { readonly bic: string; readonly baseUrl: string }[];
}

/** The message of the process when it is ready. */
export interface ServiceReady {
  readonly publicUrl: string;
  readonly token: string;
}

const CLIENT_ID = 'alpha';
const TOKEN_SECONDS = 3_600;

process.once('disconnect', () => process.exit());
process.once('message', (settings: ServiceSettings) => void start(settings));

async function start({ connectionString, privateKey: pem, perSecond, banks }: ServiceSettings): Promise<void> {
  const keys = { privateKey: createPrivateKey(pem), publicKey: createPublicKey(pem) };
  const rails = banks.map(({ bic, baseUrl }) =>
    createRail(baseUrl, keys, { name: bic, ownBank: bic, banks: new Set([bic]) }),
  );
  const limits = { perSecond, perDay: null, concurrencyMax: null, isShared: false };
  const app = await startApp({
    environment: 'sandbox',
    settings: {
      ...readSettings('sandbox', {
        TIBA_PORT: '0',
        TIBA_OPERATOR_PORT: '0',
        TIBA_ACCOUNT_VALIDATIONS_PER_MINUTE: '1000000',
      }),
      secretKey: Buffer.alloc(32, 7),
    },
    connection: { connectionString },
    banks: testBanks,
    rails,
    inquiries: { limitsByRail: new Map(rails.map(({ name }) => [name, limits])) },
    logging: warningsOnly,
  });
  if (app.clients.find(CLIENT_ID) === undefined) {
    const scopes = ['account:check', 'events:read'] as const;
    await insertClient(app.database, { clientId: CLIENT_ID, name: CLIENT_ID, secretHash: Buffer.alloc(32), scopes });
    await app.clients.reload();
  }
  const client = app.clients.find(CLIENT_ID);
  if (client === undefined) throw new Error('the client was not created');
  const token = await app.issue(client, [...client.scopes], TOKEN_SECONDS);
  process.send?.({ publicUrl: app.publicUrl, token } satisfies ServiceReady);
}
