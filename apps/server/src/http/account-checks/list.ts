import type { FastifyInstance } from 'fastify';
import type { HashAccount } from '../../account-checks/account-hash.ts';
import { ENUMERATION_SIGNALS } from '../../account-checks/enumeration/restrictions.ts';
import { isAccountStatus } from '../../domain/account.ts';
import { type BankDirectory, bankCodeOf, parseAccountNumber } from '../../domain/bank.ts';
import { isPlainText } from '../../domain/identifiers.ts';
import { type AccountCheck, type CheckPosition, listAccountChecks } from '../../postgres/account-checks.ts';
import type { Database } from '../../postgres/database.ts';
import { type Authorize, callerOf } from '../authorize.ts';
import { type CursorScope, type Cursors, linkToNext } from '../cursors.ts';
import { sendSuccess } from '../envelope.ts';
import { ApiError } from '../errors.ts';
import { LIMIT_DEFAULT, LIMIT_MAX } from '../pages.ts';
import { bankCodeParameter, invalidRequest, searchParameters, timeRange, wholeNumber } from '../query-parameters.ts';
import { CHECKS_FOUND, listAccountChecksSchema, type NO_VERDICT_ERRORS } from './schema.ts';

export interface ListAccountChecksDependencies {
  readonly authorize: Authorize;
  readonly database: Database;
  readonly banks: BankDirectory;
  readonly hashAccount: HashAccount;
  readonly cursors: Cursors;
}

const FILTER_PARAMETERS = ['account_number', 'bank_code', 'request_id', 'checked_from', 'checked_to'] as const;
const REQUEST_ID_LENGTH_MAX = 128;

/** docs/contract.md 4.6. */
export function listAccountChecksOperation(
  app: FastifyInstance,
  { authorize, database, banks, hashAccount, cursors }: ListAccountChecksDependencies,
): void {
  const onRequest = authorize({ scope: 'account:check', limitedOperation: 'account-checks' });

  app.get('/api/v1/account-checks', { onRequest, schema: listAccountChecksSchema }, async (request, reply) => {
    const { clientId } = callerOf(request).client;
    const parameters = searchParameters(request.originalUrl, [...FILTER_PARAMETERS, 'limit', 'cursor']);
    const accountHashes = hashesOf(parameters.account_number, bankCodeParameter(parameters.bank_code));
    const requestId = requestIdOf(parameters.request_id);
    const range = timeRange(parameters, 'checked_from', 'checked_to');
    const limit = wholeNumber(parameters.limit, { name: 'limit', min: 1, max: LIMIT_MAX, fallback: LIMIT_DEFAULT });
    const filter = { ...range, accountHashes, requestId };
    const scope: CursorScope = { list: 'account-checks', clientId, filter };
    const after = parameters.cursor === undefined ? null : positionOf(cursors.read(scope, parameters.cursor));

    const found = await listAccountChecks(database, clientId, filter, { after, limit: limit + 1 });
    const page = found.slice(0, limit);
    const filters = FILTER_PARAMETERS.filter((name) => parameters[name] !== undefined);
    request.logFields = { filters, checks: page.length };
    const last = found.length > limit ? page.at(-1) : undefined;
    const cursor = last === undefined ? null : cursors.issue(scope, [last.checkedAt, last.checkId]);
    if (cursor !== null) reply.header('link', linkToNext(request.originalUrl, cursor));
    const data = { account_checks: page.map(checkJson), next_cursor: cursor, has_more: cursor !== null };
    return sendSuccess(reply, CHECKS_FOUND, JSON.stringify(data));
  });

  /** A hash covers the bank and the number. Without a bank code, there is one hash for each bank. */
  function hashesOf(accountNumber: string | undefined, bankCode: string | null): readonly string[] | null {
    if (accountNumber === undefined) {
      if (bankCode === null) return null;
      throw invalidRequest({
        en: 'bank_code needs account_number: give both, or leave bank_code out',
        id: 'bank_code memerlukan account_number: berikan keduanya, atau hilangkan bank_code',
      });
    }
    const bank = bankCode === null ? null : banks.find(bankCode);
    if (bankCode !== null && bank === null) throw new ApiError('INVALID_BANK_CODE');
    const hashes = (bank === null ? banks.list() : [bank]).flatMap((each) => {
      const parsed = parseAccountNumber(each, accountNumber);
      return parsed === null ? [] : [hashAccount(each.bic, parsed.reveal())];
    });
    if (hashes.length === 0) {
      throw invalidRequest({
        en: 'account_number must be the whole account number, mobile number or e-mail address of the check',
        id:
          'account_number harus berupa nomor rekening, nomor ponsel, atau alamat surel yang lengkap dari pengecekan ' +
          'itu',
      });
    }
    return hashes;
  }

  function checkJson(check: AccountCheck): Record<string, unknown> {
    const bank = banks.find(check.bic);
    const status = isAccountStatus(check.outcome) ? check.outcome : null;
    return {
      checked_at: check.checkedAt,
      bank_code: bank === null || bank.unit === 'sharia_unit' ? check.bic : bankCodeOf(bank),
      bank_name: bank?.name ?? check.bic,
      status,
      error_code: status === null ? errorOf(check.outcome) : null,
      age_seconds: check.ageSeconds,
      request_id: check.requestId,
    };
  }
}

/** What check-account answered. The reasons themselves are for the operator. */
function errorOf(outcome: string): (typeof NO_VERDICT_ERRORS)[number] {
  if (outcome === 'no_rail') return 'UNSUPPORTED_BANK';
  if (outcome === 'internal_error') return 'INTERNAL_ERROR';
  return (ENUMERATION_SIGNALS as readonly string[]).includes(outcome) ? 'RATE_LIMIT_EXCEEDED' : 'SERVICE_UNAVAILABLE';
}

function requestIdOf(text: string | undefined): string | null {
  if (text === undefined) return null;
  if (text !== '' && isPlainText(text, REQUEST_ID_LENGTH_MAX)) return text;
  throw invalidRequest({
    en: 'request_id must be the X-Request-Id of a response of check-account',
    id: 'request_id harus berupa X-Request-Id dari jawaban check-account',
  });
}

const positionOf = ([checkedAt = '', checkId = '']: readonly string[]): CheckPosition => ({ checkedAt, checkId });
