/** The banks that this one can be, as `BANK_FORM` names them. */
export const BANK_PROFILE_NAMES = [
  'snap',
  'snap-bca',
  'snap-bri',
  'snap-mandiri',
  'snap-midtrans',
  'acmt-03',
  'acmt-04',
  'bi-fast',
] as const;
export type BankProfileName = (typeof BANK_PROFILE_NAMES)[number];

export const isBankProfileName = (name: string): name is BankProfileName =>
  (BANK_PROFILE_NAMES as readonly string[]).includes(name);
