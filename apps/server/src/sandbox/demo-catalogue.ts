import type { SandboxClientSecrets } from './secrets.ts';

const CLIENT_SCOPES = ['status:read', 'account:check', 'events:read', 'callbacks:manage'] as const;

/** The sandbox's clients, by the name of their secret. */
export const DEMO_CLIENTS = {
  shop: { clientId: 'demo-shop', name: 'Demo shop', scopes: CLIENT_SCOPES },
  payroll: { clientId: 'demo-payroll', name: 'Demo payroll', scopes: CLIENT_SCOPES },
  core: { clientId: 'demo-core', name: 'Demo disbursement core', scopes: ['feed:write', 'operator:read'] },
} as const satisfies Record<keyof SandboxClientSecrets, unknown>;

/** One of demo-shop's transactions in each status. */
export const DEMO_TRANSACTIONS = {
  success: { transaction_id: 'TB2026112100000001', reference_id: 'INV/2026/001' },
  failed: { transaction_id: 'TB2026112100000002', reference_id: 'INV/2026/002' },
  process: { transaction_id: 'TB2026112100000003', reference_id: 'INV/2026/003' },
} as const;

/** What the simulated bank answers is chosen by the account number's last four digits (docs/simulated-bank.md). */
export const DEMO_ACCOUNTS = {
  active: { bank_code: '014', account_number: '1234567890' },
  inactive: { bank_code: '014', account_number: '1234560410' },
  not_found: { bank_code: '014', account_number: '1234560404' },
  blocked: { bank_code: '014', account_number: '1234560403' },
  unavailable: { bank_code: '014', account_number: '1234560503' },
  silent: { bank_code: '014', account_number: '1234560504' },
} as const;
