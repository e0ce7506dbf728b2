import type { BankProfile, Operation } from '../bank-profile.ts';
import { answerVerification } from './account-verification.ts';
import { rejectionAnswer } from './answers.ts';
import type { Version } from './request-rules.ts';

/** Where requests go, in both versions. */
const PATH = '/v1/account-verification';

const acmt = (version: Version): BankProfile => {
  const operation: Operation = {
    answer: (bank, request) => answerVerification(bank, request, version),
    tooLong: rejectionAnswer(413, 'longer than this scheme reads'),
  };
  return {
    findOperation: (path) => (path === PATH ? operation : undefined),
    unknownRoute: rejectionAnswer(404, 'nothing is answered here'),
  };
};

export const ACMT_03 = acmt('03');
export const ACMT_04 = acmt('04');
