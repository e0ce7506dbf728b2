import type { Bank } from '../bank.ts';
import { answerAccessToken } from './access-token.ts';
import { answerExternalInquiry } from './account-inquiry-external.ts';
import { answerInternalInquiry } from './account-inquiry-internal.ts';
import type { Answer } from './answer.ts';
import type { SnapRequest } from './request.ts';
import type { ServiceCode } from './response-codes.ts';
import { answerInterbankTransfer } from './transfer-interbank.ts';
import { answerIntrabankTransfer } from './transfer-intrabank.ts';
import { answerTransferStatus } from './transfer-status.ts';

export interface Operation {
  readonly service: ServiceCode;
  /** `'never'` leaves the client waiting. */
  readonly answer: (bank: Bank, request: SnapRequest) => Answer | 'never';
}

const OPERATIONS: ReadonlyMap<string, Operation> = new Map<string, Operation>([
  ['/v1.0/access-token/b2b', { service: '73', answer: answerAccessToken }],
  ['/v1.0/account-inquiry-internal', { service: '15', answer: answerInternalInquiry }],
  ['/v1.0/account-inquiry-external', { service: '16', answer: answerExternalInquiry }],
  ['/v1.0/transfer-intrabank', { service: '17', answer: answerIntrabankTransfer }],
  ['/v1.0/transfer-interbank', { service: '18', answer: answerInterbankTransfer }],
  ['/v1.0/transfer/status', { service: '36', answer: answerTransferStatus }],
]);

/** What is asked for at a path (without query), always by POST. */
export function findOperation(path: string): Operation | undefined {
  return OPERATIONS.get(path);
}
