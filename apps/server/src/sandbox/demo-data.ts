import { createPublicKey } from 'node:crypto';
import type { App } from '../app/start-app.ts';
import { createSeal, hashSecret } from '../auth/secrets.ts';
import { readSnapPublicKey } from '../auth/snap-credentials.ts';
import { AccountNumber, accountNameOf } from '../domain/account.ts';
import type { BankDirectory } from '../domain/bank.ts';
import { insertClient, setClientScopes } from '../postgres/clients.ts';
import { insertSnapPublicKey, replaceSnapSecret, setSnapClient } from '../postgres/snap-clients.ts';
import type { Rail } from '../rails/rail.ts';
import type { SandboxClientSecrets, SandboxSecrets } from './secrets.ts';

const CLIENT_SCOPES = ['status:read', 'transactions:read', 'account:check', 'events:read', 'callbacks:manage'] as const;

/** The sandbox's clients, by the key of their secret in `SandboxClientSecrets`. */
export const DEMO_CLIENTS = {
  shop: { clientId: 'demo-shop', name: 'Demo shop', scopes: CLIENT_SCOPES },
  payroll: { clientId: 'demo-payroll', name: 'Demo payroll', scopes: CLIENT_SCOPES },
  core: { clientId: 'demo-core', name: 'Demo disbursement core', scopes: ['feed:write', 'operator:read'] },
} as const satisfies Record<keyof SandboxClientSecrets, unknown>;

/** A transaction of demo-shop in each status. */
export const DEMO_TRANSACTIONS = {
  success: { transaction_id: 'TB2026112100000001', reference_id: 'INV/2026/001' },
  failed: { transaction_id: 'TB2026112100000002', reference_id: 'INV/2026/002' },
  process: { transaction_id: 'TB2026112100000003', reference_id: 'INV/2026/003' },
} as const;

/** The account number's last four digits choose the simulated bank's answer (docs/simulated-bank.md). */
export const DEMO_ACCOUNTS = {
  active: { bank_code: '014', account_number: '1234567890' },
  inactive: { bank_code: '014', account_number: '1234560410' },
  not_found: { bank_code: '014', account_number: '1234560404' },
  blocked: { bank_code: '014', account_number: '1234560403' },
  unavailable: { bank_code: '014', account_number: '1234560503' },
  silent: { bank_code: '014', account_number: '1234560504' },
} as const;

/** An update without account_name gets the name of the account's holder. */
const TRANSACTION_UPDATES = [
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

/**
 * Creates the demo clients and feeds the demo transactions, through the same functions as real ones. A second start
 * finds them already there.
 */
export async function loadDemoData(app: App, secrets: SandboxSecrets, findHolder: FindHolder): Promise<void> {
  for (const [key, client] of Object.entries(DEMO_CLIENTS) as [
    keyof SandboxClientSecrets,
    (typeof DEMO_CLIENTS)['core'],
  ][]) {
    const isNew = await insertClient(app.database, { ...client, secretHash: hashSecret(secrets.clients[key]) });
    // A sandbox of an older version gave its clients fewer scopes.
    if (!isNew) await setClientScopes(app.database, client.clientId, client.scopes);
  }
  await addSnapKeys(app, secrets);
  await app.clients.reload();
  const run = app.feed.open(DEMO_CLIENTS.core.clientId);
  await run.readJson(await Promise.all(TRANSACTION_UPDATES.map((update) => withHolder(update, findHolder))));
  // A conflict is harmless: the data of an older sandbox, or an update fed since then, stays as it is.
  const { rejected } = run.report;
  if (rejected.length > 0) throw new Error(`the feed rejected the demo data: ${JSON.stringify(rejected)}`);
}

/** demo-shop speaks SNAP too. */
async function addSnapKeys({ database }: App, { secretKey, snap }: SandboxSecrets): Promise<void> {
  const { clientId } = DEMO_CLIENTS.shop;
  await setSnapClient(database, clientId, {});
  const publicKey = createPublicKey(snap.privateKey).export({ type: 'spki', format: 'pem' });
  await insertSnapPublicKey(database, clientId, readSnapPublicKey(publicKey));
  const secretSealed = createSeal(secretKey).seal(snap.secret);
  await replaceSnapSecret(database, clientId, { secretSealed, formerHours: 0 });
}

async function withHolder(
  update: (typeof TRANSACTION_UPDATES)[number],
  findHolder: FindHolder,
): Promise<Record<string, unknown>> {
  if ('account_name' in update) return update;
  return { ...update, account_name: await findHolder(update.bank_code, update.account_number) };
}

/**
 * The holder of an account, as the simulated bank has it. The bank derives holders from account numbers, and a
 * transaction with another name would contradict the bank's own account check. Null where the bank gives no name.
 */
export type FindHolder = (bankCode: string, accountNumber: string) => Promise<string | null>;

/** For the accounts about which the bank never answers. */
const LOOK_UP_TIMEOUT_MS = 1_000;

export function lookUpHolders(rail: Rail, banks: BankDirectory): FindHolder {
  return async (bankCode, digits) => {
    const bank = banks.find(bankCode);
    const accountNumber = AccountNumber.parse(digits);
    if (bank === null || accountNumber === null) return null;
    const outcome = await rail.inquireAccount({ bank, accountNumber }, AbortSignal.timeout(LOOK_UP_TIMEOUT_MS));
    return outcome.kind === 'verdict' ? accountNameOf(outcome.verdict) : null;
  };
}
