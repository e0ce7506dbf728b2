import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AccountNumber, type Verdict } from '../../domain/account.ts';
import type { Bank, BankDirectory } from '../../domain/bank.ts';
import { ownField } from '../../exact-json.ts';
import type { AccountInquiries } from '../../rails/account-inquiries.ts';
import type { AccountInquiry } from '../../rails/rail.ts';
import { ENVELOPE_HEADERS, success } from '../envelope.ts';
import { ApiError, unavailable } from '../errors.ts';
import { callerOf, type Gate } from '../gate.ts';
import { jsonObject, requireJson } from '../json-body.ts';
import { acceptedAgeSeconds, type KeptOutcome, type KeptVerdicts } from './kept-verdicts.ts';
import { expectedName, nameMatchOf } from './name-match.ts';
import { checkAccountSchema } from './schema.ts';

/** When nothing is known of how long it takes. */
const BANK_RETRY_AFTER_MS = 5_000;

export interface CheckAccountParts {
  readonly gate: Gate;
  readonly banks: BankDirectory;
  readonly inquiries: Pick<AccountInquiries, 'inquire'>;
  /** Null where none are kept. */
  readonly keptVerdicts: KeptVerdicts | null;
}

/** Service document 4.3. */
export function checkAccount(app: FastifyInstance, { gate, banks, inquiries, keptVerdicts }: CheckAccountParts): void {
  const onRequest = [gate({ scope: 'account:check', operation: 'check-account' }), requireJson];

  app.post('/api/v1/check-account', { onRequest, schema: checkAccountSchema }, async (request, reply) => {
    const body = jsonObject(request.body);
    const bankCode = ownField(body, 'bank_code');
    const bank = typeof bankCode === 'string' ? banks.find(bankCode) : null;
    if (bank === null || typeof bankCode !== 'string') throw new ApiError('INVALID_BANK_CODE');
    const accountNumber = accountNumberAt(bank, ownField(body, 'account_number'));
    const expected = expectedName(ownField(body, 'expected_account_name'));

    // Real-time unless the client accepts less (docs/api.md, "Account checks").
    const earlier = keptVerdicts === null ? null : earlierVerdict(keptVerdicts, request, { bank, accountNumber });
    const kept = earlier?.found ?? null;
    if (kept !== null) reply.header('age', String(kept.ageSeconds));
    const outcome = kept?.outcome ?? (await inquiries.inquire({ bank, accountNumber }));
    const judgement = outcome.kind === 'verdict' ? outcome.verdict.status : outcome.reason;
    request.logged = {
      bank: bank.bic,
      account: accountNumber,
      outcome: judgement,
      railCode: outcome.railCode,
      age: kept?.ageSeconds,
      may_be_closed: outcome.kind === 'verdict' ? outcome.mayBeClosed : undefined,
    };
    if (outcome.kind === 'no_verdict') {
      throw unavailable(
        `${bank.name} cannot be asked now, which says nothing about the account: repeat the request`,
        Math.ceil((outcome.retryAfterMs ?? BANK_RETRY_AFTER_MS) / 1000),
      );
    }
    if (kept === null) earlier?.replaceBy(outcome);
    return reply
      .headers(ENVELOPE_HEADERS)
      .send(answer({ bankCode, bank, accountNumber, expected, verdict: outcome.verdict }));
  });
}

/** What the client has been told of this account, if it accepts that; and where the next verdict goes. */
function earlierVerdict(verdicts: KeptVerdicts, request: FastifyRequest, { bank, accountNumber }: AccountInquiry) {
  const key = `${callerOf(request).client.clientId} ${bank.bic} ${accountNumber.reveal()}`;
  const ageMaxSeconds = acceptedAgeSeconds(request.headers['cache-control']);
  return {
    found: ageMaxSeconds === 0 ? null : verdicts.find(key, ageMaxSeconds),
    replaceBy: (outcome: KeptOutcome): void => verdicts.keep(key, outcome),
  };
}

function accountNumberAt(bank: Bank, value: unknown): AccountNumber {
  const accountNumber = AccountNumber.parse(value);
  if (accountNumber === null) {
    throw new ApiError('INVALID_FORMAT', {
      message: 'Invalid account number format: account_number must be a string of 5 to 34 digits',
    });
  }
  if (bank.accountNumberLength !== undefined && accountNumber.length !== bank.accountNumberLength) {
    throw new ApiError('INVALID_FORMAT', {
      message: `Invalid account number format: account numbers of ${bank.name} have ${bank.accountNumberLength} digits`,
    });
  }
  return accountNumber;
}

interface Judged {
  /** As it was sent. */
  readonly bankCode: string;
  readonly bank: Bank;
  readonly accountNumber: AccountNumber;
  /** The name that the client expects, if it gave one. */
  readonly expected: string | null;
  readonly verdict: Verdict;
}

/** Service document 2.3, and 4.3 rules 1 and 2; and `name_match` for whoever asked for it. */
function answer({ bankCode, bank, accountNumber, expected, verdict }: Judged): string {
  const isValid = verdict.status === 'ACTIVE';
  const data = JSON.stringify({
    bank_code: bankCode,
    bank_name: bank.name,
    account_number: accountNumber.reveal(),
    account_name: verdict.status === 'ACTIVE' ? verdict.accountName : null,
    is_valid: isValid,
    status: verdict.status,
    ...(expected === null ? {} : { name_match: nameMatchOf(expected, verdict) }),
  });
  return success(isValid ? 'Account validation successful' : 'Account validation completed', data);
}
