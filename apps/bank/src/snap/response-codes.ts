import { type Answer, jsonAnswer } from './answer.ts';

/** Access token B2B, internal and external account inquiry; 00 where no service is meant. */
export type ServiceCode = '00' | '15' | '16' | '73';

export interface SnapCase {
  readonly status: number;
  readonly code: string;
  /** A `?` stands where the bank names the field or the reason. */
  readonly message: string;
}

/** The cases of SNAP BI that this bank uses; where the standard lists words to choose from, the one for accounts. */
export const SNAP_CASES = {
  successful: { status: 200, code: '00', message: 'Successful' },
  badRequest: { status: 400, code: '00', message: 'Bad Request' },
  invalidFieldFormat: { status: 400, code: '01', message: 'Invalid Field Format {?}' },
  invalidMandatoryField: { status: 400, code: '02', message: 'Invalid Mandatory Field {?}' },
  unauthorized: { status: 401, code: '00', message: 'Unauthorized. [?]' },
  invalidToken: { status: 401, code: '01', message: 'Invalid Token (B2B)' },
  doNotHonor: { status: 403, code: '05', message: 'Do Not Honor' },
  inactiveAccount: { status: 403, code: '18', message: 'Inactive Account' },
  invalidRouting: { status: 404, code: '02', message: 'Invalid Routing' },
  invalidAccount: { status: 404, code: '11', message: 'Invalid Account' },
  conflict: { status: 409, code: '00', message: 'Conflict' },
  tooManyRequests: { status: 429, code: '00', message: 'Too Many Requests' },
  externalServerError: { status: 500, code: '02', message: 'External Server Error' },
} as const satisfies Record<string, SnapCase>;

/** A refusal; `detail` is the field or the reason that the case's message names. */
export function refuse(service: ServiceCode, snapCase: SnapCase, detail = ''): Answer {
  return jsonAnswer(snapCase.status, {
    responseCode: responseCode(service, snapCase),
    responseMessage: snapCase.message.replace('?', detail),
  });
}

export function succeed(service: ServiceCode, fields: object): Answer {
  const { status, message } = SNAP_CASES.successful;
  const code = responseCode(service, SNAP_CASES.successful);
  return jsonAnswer(status, { responseCode: code, responseMessage: message, ...fields });
}

/** Seven characters: HTTP status, service code, case code. */
function responseCode(service: ServiceCode, snapCase: SnapCase): string {
  return `${snapCase.status}${service}${snapCase.code}`;
}
