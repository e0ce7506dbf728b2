import type { Form, Operation } from '../form.ts';
import { answerAccessToken } from './access-token.ts';
import { answerExternalInquiry } from './account-inquiry-external.ts';
import { answerInternalInquiry } from './account-inquiry-internal.ts';
import { refuse, type ServiceCode, SNAP_CASES } from './response-codes.ts';
import { answerInterbankTransfer } from './transfer-interbank.ts';
import { answerIntrabankTransfer } from './transfer-intrabank.ts';
import { answerTransferStatus } from './transfer-status.ts';

type AnswerTo = Operation['answer'];

const operation = (service: ServiceCode, answer: AnswerTo): Operation => ({
  answer,
  tooLong: refuse(service, SNAP_CASES.badRequest),
});

const OPERATIONS: ReadonlyMap<string, Operation> = new Map([
  ['/v1.0/access-token/b2b', operation('73', answerAccessToken)],
  ['/v1.0/account-inquiry-internal', operation('15', answerInternalInquiry)],
  ['/v1.0/account-inquiry-external', operation('16', answerExternalInquiry)],
  ['/v1.0/transfer-intrabank', operation('17', answerIntrabankTransfer)],
  ['/v1.0/transfer-interbank', operation('18', answerInterbankTransfer)],
  ['/v1.0/transfer/status', operation('36', answerTransferStatus)],
]);

export const SNAP: Form = {
  findOperation: (path) => OPERATIONS.get(path),
  // SNAP has no code for an unknown path; this is its "Invalid Routing" with the service code of no service.
  unknownRoute: refuse('00', SNAP_CASES.invalidRouting),
};
