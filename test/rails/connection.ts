import { AccountNumber } from '../../apps/server/src/domain/account.ts';
import { createBankDirectory } from '../../apps/server/src/domain/bank.ts';
import bankEntries from '../../apps/server/src/domain/banks.json' with { type: 'json' };
import type {
  ClientInquiry,
  InquiryOutcome,
  Rail,
  StatusInquiry,
  StatusInquiryOutcome,
} from '../../apps/server/src/rails/rail.ts';
import type { SnapSettings } from '../../apps/server/src/rails/snap/settings.ts';
import { createSnapRail } from '../../apps/server/src/rails/snap/snap-rail.ts';
import type { RsaKeys } from '../support/rsa-keys.ts';

export const CLIENT_KEY = '962489e9-de5d-4eb7-92a4-b07d44d64bf4';
// Not only ASCII: the key of the signatures is its UTF-8.
export const CLIENT_SECRET = 'kunci rahasia é/+=';

/** A rail to the bank at `baseUrl`, as BCA's partner. */
export function createRail(baseUrl: string, { privateKey }: RsaKeys, changes: Partial<SnapSettings> = {}): Rail {
  return createSnapRail({
    name: 'scripted-bank',
    baseUrl,
    clientKey: CLIENT_KEY,
    clientSecret: CLIENT_SECRET,
    privateKey,
    partnerId: 'TIBATEST',
    channelId: '95221',
    ownBank: 'CENAIDJA',
    banks: null,
    ...changes,
  });
}

const banks = createBankDirectory(bankEntries);

/** An inquiry for an account at the bank with this code. */
export function inquiryOf(bankCode: string, accountNumber: string, clientId = 'alpha'): ClientInquiry {
  const bank = banks.find(bankCode);
  const parsed = AccountNumber.parse(accountNumber);
  if (bank === null || parsed === null) throw new Error(`no such inquiry: ${bankCode} ${accountNumber}`);
  return { clientId, bank, accountNumber: parsed };
}

/** Inquires as the service does, with a deadline longer than any reply of a test needs. */
export const inquireAccount = (rail: Rail, bankCode: string, accountNumber: string): Promise<InquiryOutcome> =>
  rail.inquireAccount(inquiryOf(bankCode, accountNumber), AbortSignal.timeout(20_000));

/** The same about an alias of BI-FAST. */
export function inquireAlias(rail: Rail, alias: string): Promise<InquiryOutcome> {
  const bank = banks.find('BIFAST');
  const accountNumber = AccountNumber.parseAlias(alias);
  if (bank === null || accountNumber === null) throw new Error(`no such alias: ${alias}`);
  return rail.inquireAccount({ bank, accountNumber }, AbortSignal.timeout(20_000));
}

/** A transfer of 150000.00 to an account at this bank. */
export const transferTo = (bankCode: string, changes: Partial<StatusInquiry> = {}): StatusInquiry => ({
  reference: 'TRANSFER-1',
  amount: '150000.00',
  currency: 'IDR',
  createdAt: '2026-11-21T04:32:26.123Z',
  serviceCode: null,
  ...inquiryOf(bankCode, '1234567890'),
  ...changes,
});

export function inquireStatus(rail: Rail, inquiry: StatusInquiry): Promise<StatusInquiryOutcome> {
  if (rail.inquireStatus === undefined) throw new Error(`${rail.name} has no status inquiry`);
  return rail.inquireStatus(inquiry, AbortSignal.timeout(20_000));
}
