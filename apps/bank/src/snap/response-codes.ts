import { type BankResponse, jsonResponse } from '../http.ts';

/**
 * 15 internal account inquiry, 16 external account inquiry, 17 intrabank transfer, 18 interbank transfer, 36 transfer
 * status inquiry, 37 account inquiry of e-money, 73 access token B2B; 00 if the request is for no service.
 */
export type ServiceCode = '00' | '15' | '16' | '17' | '18' | '36' | '37' | '73';

export interface SnapCase {
  readonly status: number;
  readonly code: string;
  /** The bank replaces `?` by the field or the reason. */
  readonly message: string;
}

/** The cases of SNAP BI that this bank uses. Where the standard lists alternative texts, the one for accounts. */
export const SNAP_CASES = {
  successful: { status: 200, code: '00', message: 'Successful' },
  badRequest: { status: 400, code: '00', message: 'Bad Request' },
  invalidFieldFormat: { status: 400, code: '01', message: 'Invalid Field Format {?}' },
  invalidMandatoryField: { status: 400, code: '02', message: 'Invalid Mandatory Field {?}' },
  unauthorized: { status: 401, code: '00', message: 'Unauthorized. [?]' },
  invalidToken: { status: 401, code: '01', message: 'Invalid Token (B2B)' },
  exceedsAmountLimit: { status: 403, code: '02', message: 'Exceeds Transaction Amount Limit' },
  suspectedFraud: { status: 403, code: '03', message: 'Suspected Fraud' },
  doNotHonor: { status: 403, code: '05', message: 'Do Not Honor' },
  dormantAccount: { status: 403, code: '09', message: 'Dormant Account' },
  insufficientFunds: { status: 403, code: '14', message: 'Insufficient Funds' },
  transactionNotPermitted: { status: 403, code: '15', message: 'Transaction Not Permitted. [?]' },
  inactiveAccount: { status: 403, code: '18', message: 'Inactive Account' },
  invalidTransactionStatus: { status: 404, code: '00', message: 'Invalid Transaction Status' },
  transactionNotFound: { status: 404, code: '01', message: 'Transaction Not Found' },
  invalidRouting: { status: 404, code: '02', message: 'Invalid Routing' },
  transactionCancelled: { status: 404, code: '04', message: 'Transaction Cancelled' },
  invalidAccount: { status: 404, code: '11', message: 'Invalid Account' },
  invalidAmount: { status: 404, code: '13', message: 'Invalid Amount' },
  partnerNotFound: { status: 404, code: '16', message: 'Partner Not Found' },
  conflict: { status: 409, code: '00', message: 'Conflict' },
  duplicatePartnerReferenceNo: { status: 409, code: '01', message: 'Duplicate partnerReferenceNo' },
  tooManyRequests: { status: 429, code: '00', message: 'Too Many Requests' },
  generalError: { status: 500, code: '00', message: 'General Error' },
  internalServerError: { status: 500, code: '01', message: 'Internal Server Error' },
  externalServerError: { status: 500, code: '02', message: 'External Server Error' },
  timeout: { status: 504, code: '00', message: 'Timeout' },
} as const satisfies Record<string, SnapCase>;

export type SnapCaseName = keyof typeof SNAP_CASES;

/** A rejection; `detail` is the field or the reason that the message of the case names. */
export function reject(service: ServiceCode, snapCase: SnapCase, detail = ''): BankResponse {
  return jsonResponse(snapCase.status, {
    responseCode: responseCode(service, snapCase),
    responseMessage: snapCase.message.replace('?', detail),
  });
}

export function succeed(service: ServiceCode, fields: object): BankResponse {
  const { status, message } = SNAP_CASES.successful;
  const code = responseCode(service, SNAP_CASES.successful);
  return jsonResponse(status, { responseCode: code, responseMessage: message, ...fields });
}

/** Seven characters: HTTP status, service code, case code. */
export function responseCode(service: ServiceCode, snapCase: SnapCase): string {
  return `${snapCase.status}${service}${snapCase.code}`;
}
