// Enough banks for `beneficiaryBankName`, which SNAP BI leaves optional; others are answered without a name.
const BANKS = [
  ['002', 'BRINIDJA', 'BANK BRI'],
  ['008', 'BMRIIDJA', 'BANK MANDIRI'],
  ['009', 'BNINIDJA', 'BANK BNI'],
  ['011', 'BDINIDJA', 'BANK DANAMON'],
  ['013', 'BBBAIDJA', 'BANK PERMATA'],
  ['014', 'CENAIDJA', 'BANK BCA'],
  ['022', 'BNIAIDJA', 'BANK CIMB NIAGA'],
  ['028', 'NISPIDJA', 'BANK OCBC NISP'],
  ['200', 'BTANIDJA', 'BANK BTN'],
  ['451', 'BSMDIDJA', 'BANK BSI'],
] as const;

const NAMES: ReadonlyMap<string, string> = new Map(
  BANKS.flatMap(([clearingCode, bic, name]) => [
    [clearingCode, name],
    [bic, name],
  ]),
);

/** Name of a bank by its clearing code or its BIC (the three characters of a branch do not count). */
export function findBankName(bankCode: string): string | undefined {
  return NAMES.get(bankCode.slice(0, 8));
}
