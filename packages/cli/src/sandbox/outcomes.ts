/**
 * How a disbursement of the sandbox ends: the last four digits of its account number say it to the simulated bank
 * (docs/simulated-bank.md, "Endings").
 */
export const OUTCOMES: Readonly<Record<string, string>> = {
  success: '7890',
  'success-after-20-seconds': '2020',
  'success-after-30-minutes': '2030',
  'account-not-found': '4411',
  'account-closed': '4318',
  'account-dormant': '4309',
  'account-blocked': '4305',
  'name-mismatch': '4315',
  'amount-over-limit': '4302',
  'insufficient-funds': '4314',
  'suspected-fraud': '4303',
  'bank-unavailable': '5400',
  cancelled: '4404',
  refunded: '4400',
  'notification-lost': '7600',
  'notification-twice': '7602',
  'notification-late': '7660',
  'notification-contradicts': '7606',
  reversed: '7604',
  'never-found': '3607',
  'never-ends': '3603',
};

/** Of the simulated bank's own accounts, which have ten digits. */
const NUMBER_START = '123456';

export const accountNumberOf = (outcome: string): string => NUMBER_START + (OUTCOMES[outcome] ?? '');
