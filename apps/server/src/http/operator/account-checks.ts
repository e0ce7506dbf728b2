import type { FastifyInstance } from 'fastify';
import type { HashAccount } from '../../account-checks/account-hash.ts';
import { isAccountStatus } from '../../domain/account.ts';
import { bankFault } from '../../domain/account-check-request.ts';
import { type BankDirectory, parseAccountNumber } from '../../domain/bank.ts';
import { isPlainText } from '../../domain/identifiers.ts';
import { englishOnly } from '../../lib/bilingual-text.ts';
import { type JsonObject, numberText } from '../../lib/exact-json.ts';
import { ownProperty } from '../../lib/own-property.ts';
import { type AccountCheck, findAccountChecks } from '../../postgres/account-checks.ts';
import type { Database } from '../../postgres/database.ts';
import type { Authorize } from '../authorize.ts';
import { sendOperatorSuccess } from '../envelope.ts';
import { ApiError } from '../errors.ts';
import { instantParameter, invalidRequest, wholeNumber } from '../query-parameters.ts';
import { requireJson } from '../request-body.ts';
import { fieldsOf } from './action-request.ts';
import { searchAccountChecksSchema } from './list-schemas.ts';
import type { OperatorLimits } from './operator-limits.ts';

export interface SearchAccountChecksDependencies {
  readonly authorize: Authorize;
  readonly database: Database;
  readonly banks: BankDirectory;
  readonly hashAccount: HashAccount;
  readonly limits: Pick<OperatorLimits, 'countAccountSearch'>;
}

const TEXT_LENGTH_MAX = 128;
const LIMIT_MAX = 1_000;
const LIMIT_DEFAULT = 100;

/**
 * Searches the audit log: who checked an account, or which accounts a client checked. A POST, because an account number
 * in a URL would appear in the logs of every proxy on the way.
 */
export function searchAccountChecks(
  app: FastifyInstance,
  { authorize, database, banks, hashAccount, limits }: SearchAccountChecksDependencies,
): void {
  const onRequest = [authorize({ scope: 'operator:read' }), requireJson];

  app.post(
    '/operator/v1/account-checks/search',
    { onRequest, schema: searchAccountChecksSchema },
    async (request, reply) => {
      const body = fieldsOf(request, ['client_id', 'bank_code', 'account_number', 'from', 'to', 'limit']);
      const clientId = textAt(body, 'client_id');
      const accountHash = hashAt(body);
      if (clientId === null && accountHash === null)
        throw invalidRequest(englishOnly('give client_id, or bank_code and account_number, or all three'));
      const limit = limitAt(body);
      const range = { from: instantAt(body, 'from'), to: instantAt(body, 'to') };
      if (accountHash !== null) await limits.countAccountSearch(request);
      const found = await findAccountChecks(database, { clientId, accountHash, ...range, limit: limit + 1 });
      const data = JSON.stringify({
        account_checks: found.slice(0, limit).map(checkJson),
        has_more: found.length > limit,
      });
      return sendOperatorSuccess(reply, 'Account checks found', data);
    },
  );

  function hashAt(body: JsonObject): string | null {
    const bankCode = textAt(body, 'bank_code');
    const digits = textAt(body, 'account_number');
    if (bankCode === null && digits === null) return null;
    const bank = bankCode === null ? null : banks.find(bankCode);
    if (bank === null) throw new ApiError('INVALID_BANK_CODE', { message: bankFault(bankCode ?? undefined) });
    const accountNumber = parseAccountNumber(bank, digits);
    if (accountNumber === null) {
      throw invalidRequest(
        englishOnly('account_number must be a string of 5 to 34 digits, a mobile number of an e-wallet, or an alias'),
      );
    }
    return hashAccount(bank.bic, accountNumber.reveal());
  }
}

export const checkJson = (check: AccountCheck): Record<string, unknown> => ({
  checked_at: check.checkedAt,
  client_id: check.clientId,
  bic: check.bic,
  // Equal for checks of the same account, and useless outside this database.
  account_hash: check.accountHash,
  verdict: isAccountStatus(check.outcome) ? check.outcome : null,
  no_verdict_reason: isAccountStatus(check.outcome) ? null : check.outcome,
  rail: check.rail,
  age_seconds: check.ageSeconds,
  request_id: check.requestId,
});

function textAt(body: JsonObject, name: string): string | null {
  const value = ownProperty(body, name) ?? null;
  if (value === null) return null;
  if (typeof value === 'string' && isPlainText(value, TEXT_LENGTH_MAX)) return value;
  throw invalidRequest(
    englishOnly(`${name} must be a string of at most ${TEXT_LENGTH_MAX} characters, without control characters`),
  );
}

function instantAt(body: JsonObject, name: string): string | null {
  const value = ownProperty(body, name) ?? null;
  return value === null ? null : instantParameter(value, name);
}

function limitAt(body: JsonObject): number {
  const value = ownProperty(body, 'limit') ?? null;
  // A number that JavaScript might round arrives as text.
  const text = numberText(value) ?? '';
  return wholeNumber(value === null ? undefined : text, {
    name: 'limit',
    min: 1,
    max: LIMIT_MAX,
    fallback: LIMIT_DEFAULT,
  });
}
