import type { Answer } from '../answer.ts';
import type { Bank } from '../bank.ts';
import type { BankProfile, Operation } from '../bank-profile.ts';
import type { BankRequest } from '../request.ts';
import { answerAccessToken } from './access-token.ts';
import { answerExternalInquiry } from './account-inquiry-external.ts';
import { answerInternalInquiry } from './account-inquiry-internal.ts';
import { reject, type ServiceCode, SNAP_CASES } from './response-codes.ts';
import { ASPI } from './rules/aspi.ts';
import { BCA } from './rules/bca.ts';
import { BRI } from './rules/bri.ts';
import { MANDIRI } from './rules/mandiri.ts';
import { MIDTRANS } from './rules/midtrans.ts';
import type { SnapRules } from './rules/rules.ts';
import { answerInterbankTransfer } from './transfer-interbank.ts';
import { answerIntrabankTransfer } from './transfer-intrabank.ts';
import { answerTransferStatus } from './transfer-status.ts';

type AnswerTo = (bank: Bank, rules: SnapRules, request: BankRequest) => Answer | 'never';

const SERVICES: readonly (readonly [ServiceCode, AnswerTo])[] = [
  ['73', answerAccessToken],
  ['15', answerInternalInquiry],
  ['16', answerExternalInquiry],
  ['17', answerIntrabankTransfer],
  ['18', answerInterbankTransfer],
  ['36', answerTransferStatus],
];

function createForm(rules: SnapRules): BankProfile {
  const operations = new Map<string, Operation>();
  for (const [service, answer] of SERVICES) {
    const path = rules.paths[service];
    if (path === undefined) continue;
    operations.set(path, {
      answer: (bank, request) => answer(bank, rules, request),
      tooLong: reject(service, SNAP_CASES.badRequest),
    });
  }
  return {
    findOperation: (path) => operations.get(path),
    // SNAP has no code for an unknown path; this is its "Invalid Routing" with the service code of no service.
    unknownRoute: reject('00', SNAP_CASES.invalidRouting),
  };
}

/** The banks that speak SNAP, each in its own way. */
export const SNAP_PROFILES = {
  snap: createForm(ASPI),
  'snap-bca': createForm(BCA),
  'snap-bri': createForm(BRI),
  'snap-mandiri': createForm(MANDIRI),
  'snap-midtrans': createForm(MIDTRANS),
} as const;
