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
   * Unless given, the bank is asked, and what this client has received before for this account and name is forgotten.
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
  /** For each key the check under way whose verdict may be remembered: the latest, unless a newer verdict has come. */
  const remembering = new Map<string, symbol>();

  async function check(
    account: AccountCheck,
    { maxAgeSeconds = 0, ...options }: AccountCheckOptions = {},
  ): Promise<WithResponse<CheckedAccount>> {
    const { bank_code: bank, account_number: number, expected_account_name: name = null } = account;
    const key = JSON.stringify([bank, number, name]);
    const takesEarlier = maxAgeSeconds > 0;
    const keptMs = maxAgeSeconds * 1_000;
    const known = takesEarlier ? verdicts.find(key, keptMs) : null;
    if (known !== null) return known;
    const headers = takesEarlier ? { 'cache-control': `max-age=${maxAgeSeconds}` } : {};
    const own = Symbol('check');
    if (takesEarlier) remembering.set(key, own);
    try {
      const plan = { operation: 'checkAccount', body: JSON.stringify(account), headers } as const;
      const answer = await transport.json(plan, options);
      const ageMs = Number(answer.response.headers.get('age') ?? 0) * 1_000;
      if (remembering.get(key) === own) verdicts.keep(key, answer, { ageMs, keptMs });
      else verdicts.forget(key);
      // What the bank has just said is newer than what a check under way may bring from the service's memory.
      if (!takesEarlier) remembering.delete(key);
      return answer;
    } finally {
      if (remembering.get(key) === own) remembering.delete(key);
    }
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
