// Enough banks for `beneficiaryBankName`, which SNAP BI leaves optional; responses about other banks have no name. The
// last column is the branch code of the head office, which payment providers require after the clearing code.
const BANKS = [
  ['002', 'BRINIDJA', 'BANK BRI', '0307'],
  ['008', 'BMRIIDJA', 'BANK MANDIRI', '0017'],
  ['009', 'BNINIDJA', 'BANK BNI', '0010'],
  ['011', 'BDINIDJA', 'BANK DANAMON', '0042'],
  ['013', 'BBBAIDJA', 'BANK PERMATA', '0475'],
  ['014', 'CENAIDJA', 'BANK BCA', '0397'],
  ['022', 'BNIAIDJA', 'BANK CIMB NIAGA', '0026'],
  ['028', 'NISPIDJA', 'BANK OCBC NISP', '0024'],
  ['200', 'BTANIDJA', 'BANK BTN', '0150'],
  ['451', 'BSMDIDJA', 'BANK BSI', '0017'],
] as const;

const NAMES: ReadonlyMap<string, string> = new Map(
  BANKS.flatMap(([clearingCode, bic, name]) => [
    [clearingCode, name],
    [bic, name],
  ]),
);

/** Name of a bank by its clearing code or its BIC (the three characters of a branch are ignored). */
export function findBankName(bankCode: string): string | undefined {
  return NAMES.get(bankCode.slice(0, 8));
}

const BICS: ReadonlyMap<string, string> = new Map(
  BANKS.flatMap(([clearingCode, bic, , branch]) => [
    [clearingCode, bic],
    [`${clearingCode}${branch}`, bic],
  ]),
);

/**
 * BIC of a bank by its clearing code, alone or with its head office's branch code; null for a bank that is not listed.
 */
export function findBic(code: string): string | null {
  return BICS.get(code) ?? null;
}
