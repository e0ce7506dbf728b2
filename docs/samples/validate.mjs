import { TibaError } from '@tiba/client';
import { tiba } from './tiba.mjs';

/** What to do with a payout to this account: `pay`, `ask` a person, `refuse`, or try `later`. */
async function decide(bank_code, account_number, expected_account_name) {
  try {
    const { status, name_match } = await tiba.checkAccount({ bank_code, account_number, expected_account_name });
    if (status !== 'ACTIVE') return `refuse: the account is ${status}`;
    if (name_match.result === 'MATCH') return 'pay';
    return name_match.result === 'NO_MATCH' ? 'refuse: another holder' : 'ask: are they the same person?';
  } catch (error) {
    // No verdict. It says nothing about the account.
    if (error instanceof TibaError && error.error_code === 'SERVICE_UNAVAILABLE') return 'later';
    throw error;
  }
}

console.log(await decide('BCA', '1234567890', 'Kartika Prasetyo'));
console.log(await decide('BCA', '1234567890', 'Andi Saputra'));
console.log(await decide('BCA', '1234560404', 'Siti Rahayu'));
