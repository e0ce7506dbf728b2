import { setTimeout as delay } from 'node:timers/promises';
import { findAccount } from '../../apps/bank/src/accounts.ts';
import type { Canaries } from './canaries.ts';
import { createDraws, type Draws } from './draws.ts';
import { BANK_CODES } from './known-transactions.ts';
import { bearer, type RoundContext } from './round-context.ts';

const PAUSE_MS = 40;

/** The last digits by which the simulated bank chooses its answer; an empty text leaves them to chance. */
const TAILS = ['', '', '', '', '0403', '0404', '0410', '0429', '0500', '0503'] as const;

export interface DrawnAccount {
  readonly bankCode: string;
  readonly accountNumber: string;
}

export function drawAccount(
  draws: Draws,
  { canaries, onlyVerdicts = false }: Pick<RoundContext, 'canaries' | 'onlyVerdicts'>,
): DrawnAccount {
  for (;;) {
    const accountNumber = canaries.accountNumber(onlyVerdicts ? '' : draws.pick(TAILS));
    const account = { bankCode: draws.pick(BANK_CODES), accountNumber };
    if (!onlyVerdicts || rightVerdict(account) !== null) return account;
  }
}

export interface Verdict {
  readonly status: string;
  readonly holder: string | null;
}

const STATUSES = { active: 'ACTIVE', 'not-found': 'NOT_FOUND', inactive: 'INACTIVE', blocked: 'BLOCKED' } as const;

/** The only verdict that is right; null where the bank gives none. */
export function rightVerdict({ bankCode, accountNumber }: DrawnAccount): Verdict | null {
  const outcome = findAccount(bankCode, accountNumber);
  if (!(outcome.kind in STATUSES)) return null;
  return {
    status: STATUSES[outcome.kind as keyof typeof STATUSES],
    holder: outcome.kind === 'active' ? outcome.holderName : null,
  };
}

/** The name that the bank knows must not appear anywhere else either. */
export function addHolder(canaries: Pick<Canaries, 'add'>, verdict: Verdict | null): void {
  if (verdict !== null && verdict.holder !== null) canaries.add(verdict.holder);
}

interface Answered {
  readonly data: { readonly status: string; readonly account_name: string | null; readonly account_number: string };
}

/** Checks accounts, whatever the bank does: a verdict is right, or there is none. */
export async function checkAccounts(context: RoundContext, number: number): Promise<void> {
  const { caller, tokens, record, canaries, loadEnds } = context;
  const draws = createDraws(context.seed, `account checker ${number}`);
  while (!loadEnds.aborted) {
    const account = drawAccount(draws, context);
    const right = rightVerdict(account);
    addHolder(canaries, right);
    const answer = await caller.call({
      method: 'POST',
      target: '/api/v1/check-account',
      headers: { ...bearer(tokens.alpha), 'content-type': 'application/json' },
      body: JSON.stringify({ bank_code: account.bankCode, account_number: account.accountNumber }),
    });
    if (answer?.status === 200) {
      const { data } = JSON.parse(answer.text) as Answered;
      record.count('verdicts on accounts');
      const isRight =
        data.status === right?.status &&
        data.account_name === right.holder &&
        data.account_number === account.accountNumber;
      if (!isRight)
        record.wrong('a verdict on an account is wrong', `${answer.text}, right is ${JSON.stringify(right)}`);
    } else if (answer !== null && answer.status !== 503) {
      record.wrong('an account check is refused', `${answer.status} ${answer.text}`);
    }
    await delay(PAUSE_MS);
  }
}
