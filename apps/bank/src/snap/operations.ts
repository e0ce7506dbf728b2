import type { Bank, BankProfile, Operation } from '../bank.ts';
import type { BankRequest, BankResponse } from '../http.ts';
import { handleAccessToken } from './access-token.ts';
import { handleExternalInquiry, handleInternalInquiry } from './account-inquiry.ts';
import { handleCustomerInquiry } from './customer-inquiry.ts';
import { reject, type ServiceCode, SNAP_CASES } from './response-codes.ts';
import { ASPI } from './rules/aspi.ts';
import { BCA } from './rules/bca.ts';
import { BRI } from './rules/bri.ts';
import { MANDIRI } from './rules/mandiri.ts';
import { MIDTRANS } from './rules/midtrans.ts';
import type { SnapRules } from './rules/rules.ts';
import { handleInterbankTransfer, handleIntrabankTransfer } from './transfer.ts';
import { handleTransferStatus } from './transfer-status.ts';

type ServiceHandler = (bank: Bank, rules: SnapRules, request: BankRequest) => BankResponse | 'no-response';

const SERVICES: readonly (readonly [ServiceCode, ServiceHandler])[] = [
  ['73', handleAccessToken],
  ['15', handleInternalInquiry],
  ['16', handleExternalInquiry],
  ['17', handleIntrabankTransfer],
  ['18', handleInterbankTransfer],
  ['36', handleTransferStatus],
  ['37', handleCustomerInquiry],
];

function createProfile(rules: SnapRules): BankProfile {
  const operations = new Map<string, Operation>();
  for (const [service, handle] of SERVICES) {
    const path = rules.paths[service];
    if (path === undefined) continue;
    operations.set(path, {
      handle: (bank, request) => handle(bank, rules, request),
      bodyTooLong: reject(service, SNAP_CASES.badRequest),
    });
  }
  return {
    findOperation: (path) => operations.get(path),
    // SNAP has no code for an unknown path; this is its "Invalid Routing" with service code 00, which no service has.
    unknownRoute: reject('00', SNAP_CASES.invalidRouting),
  };
}

/** The SNAP profiles: one per simulated bank. */
export const SNAP_PROFILES = {
  snap: createProfile(ASPI),
  'snap-bca': createProfile(BCA),
  'snap-bri': createProfile(BRI),
  'snap-mandiri': createProfile(MANDIRI),
  'snap-midtrans': createProfile(MIDTRANS),
} as const;
