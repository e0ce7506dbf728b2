import { findAccount } from '../../apps/bank/src/accounts.ts';

/** A payroll for the sandbox, with what is wrong in the payrolls of real companies. */

const HEADER = ['No', 'Kode Bank', 'No. Rekening', 'Nama Karyawan', 'Catatan'];
const BANKS = ['009', '002', '014', '008'] as const;
/** The endings of accounts that the simulated bank cannot pay, or knows nothing about. */
const ENDINGS = ['0404', '0410', '0403', '0503'] as const;
/** Without a pattern that looks like enumeration. */
const STEP = 7_919;
/** One account of these cannot be paid. It is no multiple of the number of banks, so that each has some. */
const UNPAYABLE = 41;

/** Each number has ten digits, because BCA's have. */
function accountOf(row: number): string {
  const number = String(8_000_000_000 + row * STEP);
  if (row % UNPAYABLE !== 7) return number;
  return number.slice(0, -4) + (ENDINGS[Math.floor(row / UNPAYABLE) % ENDINGS.length] ?? '');
}

function cellsOf(row: number): string[] {
  // A person who is paid twice.
  const person = row % 17 === 16 ? row - 4 : row;
  const bank = BANKS[person % BANKS.length] ?? '';
  const account = accountOf(person);
  const outcome = findAccount(bank, account);
  const name = outcome.kind === 'active' ? outcome.holderName : 'Siti Rahayu';
  return [String(row + 1), bank, account, name, row % 100 === 3 ? '"kantor; café"' : ''];
}

/** As a spreadsheet program with Indonesian settings saves it: semicolons, Windows-1252. */
export function payrollCsv(rows: number): Buffer {
  const lines = Array.from({ length: rows }, (_, row) => {
    const [number = '', bank = '', account = '', name = '', note = ''] = cellsOf(row);
    if (row % 499 === 100) return [number, bank, `"${account}`, name, note].join(';');
    if (row % 777 === 300) return [number, 'BANK X', account, name, note].join(';');
    // Two zeros at the start are lost.
    if (row % 250 === 42) return [number, '014', account.slice(2), name, note].join(';');
    return [number, bank, account, name, note].join(';');
  });
  return Buffer.from(`${[HEADER.join(';'), ...lines].join('\r\n')}\r\n`, 'latin1');
}
