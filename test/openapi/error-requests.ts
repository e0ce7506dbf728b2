import { statusUpdate } from '../support/service.ts';

/** Requests that succeed, and requests that fail, for the operations of both listeners. */

export const CRASHING = '123456789';
export const GOOD = { bank_code: '009', account_number: '1234567890' };
export const RANGE = { from: '2026-11-20T00:00:00Z', to: '2026-11-21T00:00:00Z' };
export const ENDPOINTS = '/api/v1/callback-endpoints';
export const DELIVERIES = '/api/v1/callback-deliveries';
export const VALIDATIONS = '/api/v1/account-validations';
export const REPLAYS = '/operator/v1/callback-replays';
const NO_ENDPOINT = 'ep_00000000000000000000';

/** A body with which the operation succeeds. */
export const BODIES: Readonly<Record<string, unknown>> = {
  '/api/v1/check-status/batch': { ids: ['one'] },
  '/api/v1/check-account': GOOD,
  '/api/v1/account-validations': { accounts: [GOOD] },
  '/api/v1/callback-endpoints': { url: 'http://127.0.0.1:9/' },
  '/api/v1/callback-endpoints/{endpoint_id}': { disabled: false },
  '/feed/v1/transactions': statusUpdate({ transaction_id: 'TB0000000002', reference_id: 'fed' }),
  '/operator/v1/account-checks/search': { client_id: 'alpha' },
  '/operator/v1/transactions/{transaction_id}/unmask': { reason: 'A test of errors' },
  '/operator/v1/transactions/{transaction_id}/inquire': { reason: 'A test of errors' },
  '/operator/v1/transactions/{transaction_id}/resolve-review': { reason: 'A test of errors' },
  '/operator/v1/callback-deliveries/{delivery_id}/resend': { client_id: 'alpha', reason: 'A test of errors' },
  [`${REPLAYS}/{replay_id}/cancel`]: { reason: 'A test of errors' },
  '/operator/v1/clients/{client_id}': { reason: 'A test of errors' },
  '/operator/v1/sessions/revoke': { session_id: 'os_none', reason: 'A test of errors' },
  '/operator/v1/signing-keys/rotate': { reason: 'A test of errors' },
  '/operator/v1/proposals/{proposal_id}/approve': { payload_hash: 'a'.repeat(64), reason: 'A test of errors' },
  '/operator/v1/proposals/{proposal_id}/refuse': { reason: 'A test of errors' },
};
export const WITH_WRONG_QUERY: readonly (readonly [template: string, query: string])[] = [
  ['/api/v1/transactions', '?limit=0'],
  ['/api/v1/account-checks', '?limit=0'],
  ['/api/v1/account-checks', '?account_number=12345&bank_code=999'],
  [VALIDATIONS, '?limit=0'],
  [`${VALIDATIONS}/{validation_id}/results`, '?follow=perhaps'],
  [`${VALIDATIONS}/{validation_id}/results`, '?after=999'],
  ['/api/v1/events', '?after=x'],
  ['/api/v1/events', '?after=999'],
  [DELIVERIES, '?state=none'],
  [DELIVERIES, `?endpoint_id=${NO_ENDPOINT}`],
  ['/operator/v1/callback-endpoints', '?limit=0'],
  ['/operator/v1/transactions', '?limit=0'],
  ['/operator/v1/transactions/{transaction_id}', '?client=x'],
  ['/operator/v1/transactions/{transaction_id}/timeline', '?client=x'],
  ['/operator/v1/audit', '?limit=0'],
  ['/operator/v1/sessions', '?limit=0'],
  ['/operator/v1/proposals', '?limit=0'],
  ['/operator/v1/callback-deliveries', '?limit=0'],
  [REPLAYS, '?limit=0'],
  ['/operator/v1/banks/availability', '?days=0'],
  ['/operator/v1/banks/availability', '?bank=NONE'],
  ['/operator/v1/overdue', '?limit=0'],
  ['/operator/v1/reviews', '?limit=0'],
  ['/operator/v1/account-validations', '?limit=0'],
];

export const WITH_UNKNOWN_PATH: readonly (readonly [method: string, template: string, path: string])[] = [
  ['GET', '/api/v1/check-status/{transaction_id}', '/api/v1/check-status/NONE'],
  ['GET', '/api/v1/check-status/{transaction_id}', '/api/v1/check-status/%00'],
  ['GET', '/api/v1/check-status', '/api/v1/check-status?reference_id=NONE'],
  ['GET', '/api/v1/check-status', '/api/v1/check-status'],
  ['GET', '/api/v1/banks/{code}', '/api/v1/banks/NONE'],
  ['POST', '/operator/v1/transactions/{transaction_id}/unmask', '/operator/v1/transactions/NONE/unmask'],
  ['POST', '/operator/v1/transactions/{transaction_id}/inquire', '/operator/v1/transactions/NONE/inquire'],
  [
    'POST',
    '/operator/v1/transactions/{transaction_id}/resolve-review',
    '/operator/v1/transactions/NONE/resolve-review',
  ],
  ['POST', '/operator/v1/callback-deliveries/{delivery_id}/resend', '/operator/v1/callback-deliveries/none/resend'],
  ['PATCH', '/operator/v1/clients/{client_id}', '/operator/v1/clients/none'],
  ['GET', `${REPLAYS}/{replay_id}`, `${REPLAYS}/none`],
  ['POST', `${REPLAYS}/{replay_id}/cancel`, `${REPLAYS}/none/cancel`],
  ['GET', '/operator/v1/proposals/{proposal_id}', '/operator/v1/proposals/none'],
  ['POST', '/operator/v1/proposals/{proposal_id}/approve', '/operator/v1/proposals/none/approve'],
  ['POST', '/operator/v1/proposals/{proposal_id}/refuse', '/operator/v1/proposals/none/refuse'],
  ['GET', '/operator/v1/transactions/{transaction_id}', '/operator/v1/transactions/NONE'],
  ['GET', '/operator/v1/transactions/{transaction_id}/timeline', '/operator/v1/transactions/NONE/timeline'],
  ['GET', `${VALIDATIONS}/{validation_id}`, `${VALIDATIONS}/none`],
  ['GET', `${VALIDATIONS}/{validation_id}/results`, `${VALIDATIONS}/none/results`],
  ['POST', `${VALIDATIONS}/{validation_id}/cancel`, `${VALIDATIONS}/none/cancel`],
  ['GET', `${ENDPOINTS}/{endpoint_id}`, `${ENDPOINTS}/${NO_ENDPOINT}`],
  ['PATCH', `${ENDPOINTS}/{endpoint_id}`, `${ENDPOINTS}/${NO_ENDPOINT}`],
  ['POST', `${ENDPOINTS}/{endpoint_id}/rotate-secret`, `${ENDPOINTS}/${NO_ENDPOINT}/rotate-secret`],
  ['POST', `${ENDPOINTS}/{endpoint_id}/test`, `${ENDPOINTS}/${NO_ENDPOINT}/test`],
  ['GET', `${DELIVERIES}/{delivery_id}`, `${DELIVERIES}/none`],
  ['POST', `${DELIVERIES}/{delivery_id}/replay`, `${DELIVERIES}/none/replay`],
];

export const WITH_WRONG_BODY: readonly (readonly [method: string, template: string, body: unknown])[] = [
  ['POST', '/api/v1/check-account', { ...GOOD, bank_code: '999' }],
  ['POST', '/api/v1/check-account', { bank_code: 'BRI', account_number: '123456789012345' }],
  ['POST', '/api/v1/check-account', { ...GOOD, account_number: CRASHING }],
  ['POST', ENDPOINTS, {}],
  ['PATCH', `${ENDPOINTS}/{endpoint_id}`, {}],
  ['POST', `${DELIVERIES}/replay`, {}],
  ['POST', `${DELIVERIES}/replay`, { endpoint_id: NO_ENDPOINT, ...RANGE }],
  ['POST', '/operator/v1/account-checks/search', {}],
  ['POST', '/operator/v1/transactions/{transaction_id}/unmask', {}],
  ['POST', '/operator/v1/transactions/{transaction_id}/inquire', {}],
  ['POST', '/operator/v1/transactions/{transaction_id}/resolve-review', {}],
  ['POST', '/operator/v1/callback-deliveries/{delivery_id}/resend', {}],
  ['POST', REPLAYS, {}],
  ['POST', REPLAYS, { client_id: 'alpha', endpoint_id: NO_ENDPOINT, ...RANGE, dry_run: true }],
  ['POST', `${REPLAYS}/{replay_id}/cancel`, {}],
  ['PATCH', '/operator/v1/clients/{client_id}', {}],
  ['POST', '/operator/v1/sessions/revoke', {}],
  ['POST', '/operator/v1/signing-keys/rotate', {}],
  ['POST', '/operator/v1/proposals/{proposal_id}/approve', {}],
  ['POST', '/operator/v1/proposals/{proposal_id}/refuse', {}],
  ['POST', '/operator/v1/account-checks/search', { bank_code: '999', account_number: '12345' }],
];
