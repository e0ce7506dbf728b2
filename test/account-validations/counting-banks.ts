import type { TestContext } from 'node:test';
import { answerActive, startScriptedBank } from '../rails/scripted-bank.ts';

/** Banks that answer at once and count the inquiries for each account. */
export interface CountingBanks {
  readonly banks: readonly { readonly bic: string; readonly baseUrl: string }[];
  /** The inquiries for each account, by BIC and number with a space between. */
  readonly byAccount: ReadonlyMap<string, number>;
  total(): number;
  /** The largest number of inquiries that one bank received within a second. */
  busiestSecond(): number;
}

export async function startCountingBanks(context: TestContext, bics: readonly string[]): Promise<CountingBanks> {
  const byAccount = new Map<string, number>();
  const timesByBank = new Map<string, number[]>(bics.map((bic) => [bic, []]));
  let total = 0;
  const banks = await Promise.all(
    bics.map(async (bic) => {
      const bank = await startScriptedBank({
        inquiry(request, response) {
          const account = `${bic} ${request.fields['beneficiaryAccountNo']}`;
          byAccount.set(account, (byAccount.get(account) ?? 0) + 1);
          total += 1;
          timesByBank.get(bic)?.push(performance.now());
          return answerActive(request, response);
        },
      });
      context.after(() => bank.close());
      return { bic, baseUrl: bank.baseUrl };
    }),
  );
  const busiestSecond = (): number => Math.max(...[...timesByBank.values()].map(mostWithinASecond));
  return { banks, byAccount, total: () => total, busiestSecond };
}

function mostWithinASecond(timesMs: readonly number[]): number {
  let first = 0;
  let most = 0;
  for (const [index, atMs] of timesMs.entries()) {
    while (atMs - (timesMs[first] ?? atMs) >= 1_000) first += 1;
    most = Math.max(most, index - first + 1);
  }
  return most;
}
