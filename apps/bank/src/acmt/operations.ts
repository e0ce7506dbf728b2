import type { BankProfile, Operation } from '../bank-profile.ts';
import { handleVerification } from './account-verification.ts';
import { rejectionResponse } from './answers.ts';
import type { Version } from './request-rules.ts';

/** Where requests go, in both versions. */
const PATH = '/v1/account-verification';

const acmt = (version: Version): BankProfile => {
  const operation: Operation = {
    handle: (bank, request) => handleVerification(bank, request, version),
    bodyTooLong: rejectionResponse(413, 'longer than this scheme reads'),
  };
  return {
    findOperation: (path) => (path === PATH ? operation : undefined),
    unknownRoute: rejectionResponse(404, 'nothing is answered here'),
  };
};

export const ACMT_03 = acmt('03');
export const ACMT_04 = acmt('04');
