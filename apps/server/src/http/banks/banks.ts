import type { FastifyInstance } from 'fastify';
import { bankFault } from '../../domain/account-check-request.ts';
import { type Bank, type BankDirectory, bankCodeOf, bicOf, isAliasDirectory, isEWallet } from '../../domain/bank.ts';
import type { AccountInquiries } from '../../rails/account-inquiries.ts';
import { bankHealths, HEALTHY } from '../../rails/bank-status.ts';
import type { ProcessingTimes } from '../../transactions/processing-times.ts';
import type { Authorize } from '../authorize.ts';
import { sendSuccess } from '../envelope.ts';
import { ApiError } from '../errors.ts';
import { BANK_FOUND, BANKS_FOUND, listBanksSchema, readBankSchema } from './schema.ts';

export interface BankDependencies {
  readonly authorize: Authorize;
  readonly banks: BankDirectory;
  readonly inquiries: Pick<AccountInquiries, 'canReach' | 'snapshot'>;
  readonly processingTimes: Pick<ProcessingTimes, 'percentiles'>;
}

/** Lists the banks and their availability, which a client can show before a person pays. */
export function bankOperations(
  app: FastifyInstance,
  { authorize, banks, inquiries, processingTimes }: BankDependencies,
): void {
  const onRequest = authorize({ scope: 'account:check', limitedOperation: 'banks' });

  app.get('/api/v1/banks', { onRequest, schema: listBanksSchema }, async (_request, reply) => {
    const data = JSON.stringify({ banks: toJson(banks.list()) });
    return sendSuccess(reply, BANKS_FOUND, data);
  });

  app.get('/api/v1/banks/:code', { onRequest, schema: readBankSchema }, async (request, reply) => {
    const { code } = request.params as { readonly code: string };
    const bank = banks.find(code);
    if (bank === null) throw new ApiError('INVALID_BANK_CODE', { message: bankFault(code) });
    return sendSuccess(reply, BANK_FOUND, JSON.stringify(toJson([bank])[0]));
  });

  function toJson(described: readonly Bank[]): Record<string, unknown>[] {
    const healths = bankHealths(inquiries.snapshot());
    return described.map((bank) => {
      const canReach = inquiries.canReach(bank);
      const { status, since, inquiries: checks } = healths.get(bank.bic) ?? HEALTHY;
      const usual = processingTimes.percentiles(bank.name);
      return {
        bank_code: bankCodeOf(bank),
        bic: bicOf(bank),
        bank_name: bank.name,
        short_names: bank.shortNames,
        ...typesOf(bank),
        account_number_length: bank.accountNumberLength ?? null,
        check_account: canReach,
        // Without a rail there are no inquiries that could show its availability.
        status: canReach ? status : null,
        since,
        account_checks: checks && { p50_ms: Math.round(checks.p50Ms), p95_ms: Math.round(checks.p95Ms) },
        disbursements: usual && {
          p50_seconds: Math.round(usual.p50Ms / 1000),
          p95_seconds: Math.round(usual.p95Ms / 1000),
        },
      };
    });
  }
}

function typesOf(bank: Bank): Readonly<Record<'type' | 'account_number_type', string>> {
  if (isEWallet(bank)) return { type: 'E_WALLET', account_number_type: 'MOBILE_NUMBER' };
  if (isAliasDirectory(bank)) return { type: 'ALIAS_DIRECTORY', account_number_type: 'ALIAS' };
  return { type: 'BANK', account_number_type: 'ACCOUNT_NUMBER' };
}
