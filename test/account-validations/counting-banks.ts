import type { TestContext } from 'node:test';
import { answerActive, startScriptedBank } from '../rails/scripted-bank.ts';

/** Banks that answer at once, and count how often each account was asked about. */
export interface CountingBanks {
  readonly banks: readonly { readonly bic: string; readonly baseUrl: string }[];
  /** By `BIC number`. */
  readonly asked: ReadonlyMap<string, number>;
  total(): number;
  /** How much one of them was asked in a second, at most. */
  busiestSecond(): number;
}

export async function startCountingBanks(context: TestContext, bics: readonly string[]): Promise<CountingBanks> {
  const asked = new Map<string, number>();
  const times = new Map<string, number[]>(bics.map((bic) => [bic, []]));
  let total = 0;
  const banks = await Promise.all(
    bics.map(async (bic) => {
      const bank = await startScriptedBank({
        inquiry(request, response) {
          const account = `${bic} ${request.fields['beneficiaryAccountNo']}`;
          asked.set(account, (asked.get(account) ?? 0) + 1);
          total += 1;
          times.get(bic)?.push(performance.now());
          return answerActive(request, response);
        },
      });
      context.after(() => bank.close());
      return { bic, baseUrl: bank.baseUrl };
    }),
  );
  const busiestSecond = (): number => Math.max(...[...times.values()].map(mostWithinASecond));
  return { banks, asked, total: () => total, busiestSecond };
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
