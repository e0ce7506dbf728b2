import type { FastifyInstance } from 'fastify';
import type { AccountChecks, CheckOutcome } from '../../account-checks/account-checks.ts';
import type { EnumerationSignal } from '../../account-checks/enumeration/restrictions.ts';
import { type AccountNumber, type AccountStatus, accountNameOf } from '../../domain/account.ts';
import { parseAccountCheck } from '../../domain/account-check-request.ts';
import { type Bank, type BankDirectory, isAliasDirectory, isEWallet } from '../../domain/bank.ts';
import { englishOnly } from '../../lib/bilingual-text.ts';
import type { NoVerdictReason } from '../../rails/rail.ts';
import { noVerdictError, OUTCOME_WITHIN_MS, outcomeLogFields } from '../check-account/outcome.ts';
import { mandatoryText, optionalText } from './body.ts';
import { cut, malformed, type SnapAnswer, type SnapCaseName, SnapRejection } from './response-codes.ts';
import { SNAP_SERVICES } from './services.ts';
import { type SignedServiceDependencies, type SnapCall, signedService } from './signed-service.ts';

export interface AccountInquiryDependencies extends SignedServiceDependencies {
  readonly banks: BankDirectory;
  readonly accountChecks: AccountChecks;
  /** The bank of service 15; null where the operator has configured none. */
  readonly ownBank: Bank | null;
}

/** In characters (ASPI, services 15 and 16). */
const LENGTHS = { bankCode: 11, accountNumber: 34, reference: 64, accountName: 100, bankName: 50 } as const;

/** A part of the 5 s of check-account. The rest is a reserve for a busy process. */
const ANSWER_WITHIN_MS = 4_800;

/** Account inquiries (ASPI, services 15 and 16): check-account under SNAP's names. */
export function accountInquiries(app: FastifyInstance, dependencies: AccountInquiryDependencies): void {
  const { ownBank } = dependencies;
  const admission = {
    scope: 'account:check',
    limitedOperation: 'check-account',
    answerWithinMs: ANSWER_WITHIN_MS,
  } as const;

  const external = { route: SNAP_SERVICES.accountInquiryExternal.route, ...admission };
  signedService(app, dependencies, external, (call) => {
    const bankCode = mandatoryText(call.fields, 'beneficiaryBankCode', LENGTHS.bankCode);
    return answerInquiry(dependencies, call, bankCode, ({ name }) => ({
      beneficiaryBankCode: bankCode,
      beneficiaryBankName: cut(name, LENGTHS.bankName),
    }));
  });

  const internal = { route: SNAP_SERVICES.accountInquiryInternal.route, ...admission };
  if (ownBank === null) app.addUnserved(internal.route, NO_OWN_BANK);
  else {
    signedService(app, dependencies, internal, (call) =>
      answerInquiry(dependencies, call, ownBank.bic, () => ({ beneficiaryAccountStatus: 'Rekening aktif' })),
    );
  }
}

const NO_OWN_BANK = englishOnly('the operator has no bank of its own: use account-inquiry-external');

/** docs/contract.md 3.2. The SNAP listener and the JSON API differ only in the code of an account verdict. */
const VERDICT_CASES = {
  ACTIVE: 'successful',
  NOT_FOUND: 'invalidAccount',
  INACTIVE: 'inactiveAccount',
  BLOCKED: 'doNotHonor',
} as const satisfies Record<AccountStatus, SnapCaseName>;

async function answerInquiry(
  { banks, accountChecks }: AccountInquiryDependencies,
  { request, clientId, fields, arrivedMs }: SnapCall,
  bankCode: string,
  bankFields: (bank: Bank) => Readonly<Record<string, string>>,
): Promise<SnapAnswer> {
  const { bank, accountNumber, digits } = readAccount(fields, bankCode, banks);
  const partnerReferenceNo = optionalText(fields, 'partnerReferenceNo', LENGTHS.reference) ?? undefined;
  const outcome = await accountChecks.check(
    { clientId, bank, accountNumber, deadlineMs: arrivedMs + OUTCOME_WITHIN_MS, span: request.span },
    { requestId: request.id },
  );
  request.logFields = outcomeLogFields(bank, accountNumber, outcome);
  if (outcome.kind !== 'verdict') throw rejectionOf(bank, outcome);
  const { verdict } = outcome;
  const name = accountNameOf(verdict);
  const account =
    name === null
      ? {}
      : {
          beneficiaryAccountName: cut(name, LENGTHS.accountName),
          beneficiaryAccountNo: digits,
          ...bankFields(bank),
          currency: 'IDR',
        };
  const referenceNo = request.id;
  return { snapCase: VERDICT_CASES[verdict.status], fields: { referenceNo, partnerReferenceNo, ...account } };
}

/** @throws SnapRejection for a field that is missing or malformed, and for an unknown bank */
function readAccount(
  fields: SnapCall['fields'],
  bankCode: string,
  banks: BankDirectory,
): { readonly bank: Bank; readonly accountNumber: AccountNumber; readonly digits: string } {
  const digits = mandatoryText(fields, 'beneficiaryAccountNo', LENGTHS.accountNumber);
  const check = parseAccountCheck({ bankCode, accountNumber: digits, expectedName: null }, banks);
  if (!('code' in check)) return { ...check, digits };
  if (check.code === 'INVALID_FORMAT') throw malformed('beneficiaryAccountNo', accountForm(banks.find(bankCode)));
  throw new SnapRejection('INVALID_BANK_CODE', 'bankNotSupported', { detail: 'beneficiaryBankCode' });
}

function accountForm(bank: Bank | null): string {
  if (bank !== null && isEWallet(bank)) return 'a mobile number such as 081234567890';
  if (bank !== null && isAliasDirectory(bank)) return 'a mobile number such as 081234567890, or an e-mail address';
  return `${bank?.accountNumberLength ?? '5 to 34'} digits`;
}

/**
 * A check without a verdict. "The bank failed" and "the bank was silent" have codes of their own, and a fault of this
 * service has another one: none of them says anything about the account.
 */
function rejectionOf(bank: Bank, outcome: Exclude<CheckOutcome, { kind: 'verdict' }>): SnapRejection {
  const { code, headers } = noVerdictError(bank, outcome);
  const [snapCase, detail] = wasTooLate(outcome) ? TOO_LATE : EXPLANATIONS[outcome.reason];
  return new SnapRejection(code, snapCase, { detail, headers });
}

/** The request had no time left for a bank: none was asked. */
const wasTooLate = (outcome: Exclude<CheckOutcome, { kind: 'verdict' }>): boolean =>
  outcome.kind === 'no_verdict' && outcome.reason === 'timeout' && outcome.rail === undefined;

const TOO_LATE = [
  'internalServerError',
  'the service is too slow now, which says nothing about the account: repeat with a new X-EXTERNAL-ID',
] as const;

const BANK_CANNOT_ANSWER =
  'the bank cannot answer now, which says nothing about the account: repeat with a new X-EXTERNAL-ID';
const BANK_FAILED = ['externalServerError', BANK_CANNOT_ANSWER] as const;
const ENUMERATION = [
  'tooManyRequests',
  'these checks look like account enumeration: wait for Retry-After seconds, or ask the operator',
] as const;

/** The messages of the JSON API are too long for a responseMessage, and a cut would take what to do. */
const EXPLANATIONS: Readonly<Record<NoVerdictReason | EnumerationSignal, readonly [SnapCaseName, string]>> = {
  timeout: ['timeout', BANK_CANNOT_ANSWER],
  unreachable: BANK_FAILED,
  bank_unavailable: BANK_FAILED,
  throttled: BANK_FAILED,
  credentials_rejected: BANK_FAILED,
  invalid_response: BANK_FAILED,
  circuit_open: BANK_FAILED,
  bulkhead_full: BANK_FAILED,
  quota_exhausted: BANK_FAILED,
  rejected_by_bank: [
    'externalServerError',
    'the bank rejects inquiries about this number, which says nothing about the account: check the number',
  ],
  not_supported: [
    'externalServerError',
    'no connection to the bank carries this number, which says nothing about the account: check the number',
  ],
  internal_error: [
    'internalServerError',
    'the inquiry failed here, which says nothing about the account: repeat with a new X-EXTERNAL-ID',
  ],
  paused: [
    'internalServerError',
    'the operator has paused this service, which says nothing about the account: repeat it later',
  ],
  no_rail: ['bankNotSupported', 'beneficiaryBankCode: no connection here reaches this bank; ask the operator'],
  accounts_per_day: [
    'tooManyRequests',
    'too many different accounts in a day: wait for Retry-After seconds. Accounts of today can be checked again',
  ],
  not_found_ratio: ENUMERATION,
  sequential_numbers: ENUMERATION,
  clustered_numbers: ENUMERATION,
};
