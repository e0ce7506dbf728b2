/** The outcome of an account inquiry. */
export type AccountOutcome =
  | { readonly kind: 'active'; readonly holderName: string }
  | { readonly kind: 'not-found' }
  | { readonly kind: 'inactive' }
  | { readonly kind: 'blocked' }
  /** The bank reports that it cannot answer now. */
  | { readonly kind: 'unavailable' }
  | { readonly kind: 'too-many-requests' }
  /** HTTP status 200, but the body is HTML, not JSON. */
  | { readonly kind: 'malformed' }
  /** The bank accepts the request and never responds. */
  | { readonly kind: 'no-response' };

const OUTCOMES_BY_ENDING: ReadonlyMap<string, AccountOutcome> = new Map([
  ['0403', { kind: 'blocked' }],
  ['0404', { kind: 'not-found' }],
  ['0410', { kind: 'inactive' }],
  ['0429', { kind: 'too-many-requests' }],
  ['0500', { kind: 'malformed' }],
  ['0503', { kind: 'unavailable' }],
  ['0504', { kind: 'no-response' }],
]);

/** BIC of the bank that the standard profile simulates. */
export const OWN_BIC = 'CENAIDJA';
const OWN_CLEARING_CODE = '014';
// The one length that the bank publishes: BCA's accounts have exactly ten digits.
const OWN_DIGITS = 10;
const OTHER_DIGITS_MIN = 5;

/** An account at this bank. `accountNo` has digits only. */
function findOwnAccount(accountNo: string): AccountOutcome {
  return accountNo.length === OWN_DIGITS ? findByEnding(accountNo) : { kind: 'not-found' };
}

/** An account at any bank; `bankCode` is a three-digit clearing code or a BIC. `accountNo` has digits only. */
export function findAccount(bankCode: string, accountNo: string): AccountOutcome {
  if (bankCode === OWN_CLEARING_CODE || bankCode.startsWith(OWN_BIC)) return findOwnAccount(accountNo);
  return accountNo.length >= OTHER_DIGITS_MIN ? findByEnding(accountNo) : { kind: 'not-found' };
}

const WALLETS: ReadonlySet<string> = new Set(['GOPAY', 'DANA', 'OVO', 'SHOPEEPAY', 'LINKAJA']);

export const isWallet = (productCode: string): boolean => WALLETS.has(productCode);

/** The account of an e-wallet. The two forms of a mobile number, `0812…` and `62812…`, are the same account. */
export const findWalletAccount = (customerNumber: string): AccountOutcome =>
  findByEnding(customerNumber.replace(/^62/, '0'));

const MOBILE_NUMBER = /^628\d{7,11}$/;
const EMAIL_ADDRESS = /^[^@\s]{1,64}@[^@\s.]+(?:\.[^@\s.]+)+$/;

/** Whether it is an alias of BI-FAST: a mobile number (`01`) or an e-mail address (`02`). */
export function isAlias(type: string, value: string): boolean {
  if (type === '01') return MOBILE_NUMBER.test(value);
  return type === '02' && EMAIL_ADDRESS.test(value);
}

/** The account behind an alias. */
export interface AliasedAccount {
  readonly bic: string;
  readonly accountNo: string;
  readonly outcome: AccountOutcome;
}

/**
 * The end of a mobile number, or of what is before the `@`, chooses the outcome. Letters in any case are one alias. The
 * account behind it is at BRI and has a number that does not contain the alias.
 */
export function findAliasedAccount(value: string): AliasedAccount {
  const [name = ''] = value.toLowerCase().split('@');
  const accountNo = String(fnv1a(value.toLowerCase())).padStart(15, '0');
  return { bic: 'BRINIDJA', accountNo, outcome: findByEnding(name) };
}

function findByEnding(accountNo: string): AccountOutcome {
  return OUTCOMES_BY_ENDING.get(accountNo.slice(-4)) ?? { kind: 'active', holderName: holderNameOf(accountNo) };
}

// The bank prints holders in capitals, in at most 24 characters (BCA, account inquiry): both lists must stay short
// enough.

// biome-ignore format: a list of names reads best as a paragraph
const FIRST_NAMES = [
  'ADI', 'AGUS', 'ANDI', 'ANISA', 'ARIF', 'BAMBANG', 'BUDI', 'CITRA', 'DEDI', 'DEWI',
  'DIAN', 'EKA', 'ENDANG', 'FAJAR', 'FITRI', 'GALIH', 'HENDRA', 'INDAH', 'IRFAN', 'JOKO',
  'KARTIKA', 'LESTARI', 'LUKMAN', 'MEGA', 'MUHAMMAD', 'NINGSIH', 'NOVITA', 'NUR', 'PUTRI', 'RATNA',
  'RINA', 'RIZKI', 'SITI', 'SLAMET', 'SRI', 'TEGUH', 'TRI', 'WAHYU', 'YOHANES', 'YULIA',
];

// biome-ignore format: a list of names reads best as a paragraph
const LAST_NAMES = [
  'ANGGRAINI', 'ARDIANSYAH', 'BASUKI', 'DAMANIK', 'FIRMANSYAH', 'GINTING', 'GUNAWAN', 'HALIM', 'HANDAYANI', 'HARAHAP',
  'HARTONO', 'HIDAYAT', 'IRAWAN', 'KURNIAWAN', 'KUSUMA', 'LUBIS', 'MAHENDRA', 'MAULANA', 'NASUTION', 'NUGROHO',
  'PANGESTU', 'PERMATA', 'PRASETYO', 'PRATAMA', 'PURNOMO', 'RAHAYU', 'RAMADHAN', 'SANTOSO', 'SAPUTRA', 'SETIAWAN',
  'SIMANJUNTAK', 'SIREGAR', 'SUHARTO', 'SURYADI', 'SUSANTI', 'SUTRISNO', 'TANJUNG', 'UTAMI', 'WIBOWO', 'WIJAYA',
];

/** The same account number gives the same invented name, on every machine and in every version. */
function holderNameOf(accountNo: string): string {
  const number = fnv1a(accountNo);
  const first = FIRST_NAMES[number % FIRST_NAMES.length];
  const last = LAST_NAMES[Math.floor(number / FIRST_NAMES.length) % LAST_NAMES.length];
  return `${first} ${last}`;
}

/** FNV-1a in 32 bits: sequential account numbers get unrelated names. */
function fnv1a(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  }
  return value >>> 0;
}
