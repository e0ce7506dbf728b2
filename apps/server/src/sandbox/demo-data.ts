import type { App } from '../app/start-app.ts';
import { hashSecret } from '../auth/secrets.ts';
import { insertClient, setClientScopes } from '../postgres/clients.ts';
import { DEMO_CLIENTS, DEMO_TRANSACTIONS } from './demo-catalogue.ts';
import type { FindHolder } from './holders.ts';
import type { SandboxClientSecrets } from './secrets.ts';

/** Who has no name here is the holder of the account. */
const WORDS = [
  {
    client_id: DEMO_CLIENTS.shop.clientId,
    ...DEMO_TRANSACTIONS.success,
    status: 'SUCCESS',
    amount: '150000.00',
    fee: '2500.00',
    bank_code: '014',
    account_number: '1234567890',
    description: 'Refund of order 2026-001',
    created_at: '2026-11-21T04:32:26.123Z',
    processed_at: '2026-11-21T04:32:31.402Z',
  },
  {
    client_id: DEMO_CLIENTS.shop.clientId,
    ...DEMO_TRANSACTIONS.failed,
    status: 'FAILED',
    amount: '275000.50',
    fee: '2500.00',
    bank_code: 'BRINIDJA',
    account_number: '002101000120404',
    account_name: 'SITI RAHAYU',
    description: 'Refund of order 2026-002',
    created_at: '2026-11-21T04:40:02.000Z',
    processed_at: '2026-11-21T04:40:09.310Z',
    failure_reason: 'ACCOUNT_NOT_FOUND',
  },
  {
    client_id: DEMO_CLIENTS.shop.clientId,
    ...DEMO_TRANSACTIONS.process,
    status: 'PROCESS',
    amount: '1000000.00',
    fee: '2500.00',
    bank_code: 'MANDIRI',
    account_number: '1370012345678',
    description: 'Payment of invoice 2026-003',
    created_at: '2026-11-21T04:55:00.000Z',
  },
  {
    client_id: DEMO_CLIENTS.payroll.clientId,
    transaction_id: 'TB2026112100000004',
    reference_id: 'SALARY-2026-11-0001',
    status: 'SUCCESS',
    amount: '8750000.00',
    fee: '2500.00',
    bank_code: '009',
    account_number: '0123456789',
    description: 'Salary of November 2026',
    created_at: '2026-11-20T23:00:00.000Z',
    processed_at: '2026-11-20T23:00:04.870Z',
  },
];

/** Demo clients and transactions, through the same doors as real ones. A second start finds them there. */
export async function provideDemoData(app: App, secrets: SandboxClientSecrets, findHolder: FindHolder): Promise<void> {
  for (const [key, client] of Object.entries(DEMO_CLIENTS) as [
    keyof SandboxClientSecrets,
    (typeof DEMO_CLIENTS)['core'],
  ][]) {
    const isNew = await insertClient(app.database, { ...client, secretHash: hashSecret(secrets[key]) });
    // An older sandbox had fewer operations.
    if (!isNew) await setClientScopes(app.database, client.clientId, client.scopes);
  }
  await app.clients.reload();
  const run = app.feed.open(DEMO_CLIENTS.core.clientId);
  await run.readJson(await Promise.all(WORDS.map((word) => withHolder(word, findHolder))));
  // What is in conflict with an older sandbox, or with what somebody has fed since, stays as it is there.
  const { rejected } = run.report;
  if (rejected.length > 0) throw new Error(`the demo data was not taken: ${JSON.stringify(rejected)}`);
}

async function withHolder(word: (typeof WORDS)[number], findHolder: FindHolder): Promise<Record<string, unknown>> {
  if ('account_name' in word) return word;
  return { ...word, account_name: await findHolder(word.bank_code, word.account_number) };
}
