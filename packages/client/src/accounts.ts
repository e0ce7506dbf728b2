import { createAnswerCache } from './cache.ts';
import { type Call, toCall, type WithResponse } from './call.ts';
import type { Clock } from './clock.ts';
import type {
  AccountCheck,
  AccountCheckEntry,
  AccountCheckList,
  Bank,
  BankList,
  CheckedAccount,
  Operations,
} from './generated/api.ts';
import { itemsOf } from './pages.ts';
import type { CallOptions, Transport } from './transport.ts';

export interface AccountCheckOptions extends CallOptions {
  /**
   * Take a verdict that is at most this old: one that this client has received, or one that the service has kept.
   * Unless given, the bank is asked.
   */
  readonly maxAgeSeconds?: number | undefined;
}

export type AccountCheckFilter = Operations['listAccountChecks']['query'];

export interface Accounts {
  /** Can this account receive money? A negative verdict is an answer, not an error: see `status`. */
  checkAccount(account: AccountCheck, options?: AccountCheckOptions): Call<CheckedAccount>;
  readonly accountChecks: {
    /** Your own checks, the newest first, page after page. */
    list(filter?: AccountCheckFilter, options?: CallOptions): AsyncGenerator<AccountCheckEntry, void, undefined>;
    page(filter?: AccountCheckFilter, options?: CallOptions): Call<AccountCheckList>;
  };
  readonly banks: {
    list(options?: CallOptions): Call<BankList>;
    /** By clearing code, BIC or short name. */
    get(code: string, options?: CallOptions): Call<Bank>;
  };
}

export function createAccounts(transport: Transport, clock: Clock, verdictsMax: number): Accounts {
  const verdicts = createAnswerCache<CheckedAccount>(clock, verdictsMax);

  async function check(
    account: AccountCheck,
    { maxAgeSeconds = 0, ...options }: AccountCheckOptions = {},
  ): Promise<WithResponse<CheckedAccount>> {
    const { bank_code: bank, account_number: number, expected_account_name: name = null } = account;
    const key = JSON.stringify([bank, number, name]);
    const ageMsMax = maxAgeSeconds * 1_000;
    const known = maxAgeSeconds > 0 ? verdicts.find(key, ageMsMax) : null;
    if (known !== null) return known;
    const headers = maxAgeSeconds > 0 ? { 'cache-control': `max-age=${maxAgeSeconds}` } : {};
    const answer = await transport.json({ operation: 'checkAccount', body: JSON.stringify(account), headers }, options);
    const ageMs = Number(answer.response.headers.get('age') ?? 0) * 1_000;
    if (maxAgeSeconds > 0) verdicts.keep(key, answer, { ageMs, keptMs: ageMsMax });
    return answer;
  }

  const page = (query?: AccountCheckFilter, options?: CallOptions): Call<AccountCheckList> =>
    toCall(transport.json({ operation: 'listAccountChecks', query }, options));

  return {
    checkAccount: (account, options) => toCall(check(account, options)),
    accountChecks: {
      page,
      list: (filter = {}, options) =>
        itemsOf(
          (cursor) => page({ ...filter, cursor }, options),
          (found) => found.account_checks,
          filter.cursor,
        ),
    },
    banks: {
      list: (options) => toCall(transport.json({ operation: 'listBanks' }, options)),
      get: (code, options) => toCall(transport.json({ operation: 'getBank', path: { code } }, options)),
    },
  };
}
