import type { Bank } from '../../../client/src/index.ts';
import { type Cell, textOf } from './table.ts';

/** What is known about an account number of a file. */
export type ReadNumber =
  /** `warning`: what may be wrong with a number that looks right. */
  | { readonly kind: 'number'; readonly number: string; readonly warning: string | null }
  /** The number has fewer digits than the bank's have: `restored` has the zeros that are missing. */
  | { readonly kind: 'zeros-lost'; readonly restored: string; readonly fault: string }
  | { readonly kind: 'fault'; readonly fault: string };

/** Spreadsheet programs keep 15 digits of a number. */
const EXACT_DIGITS_MAX = 15;
const DIGITS = /^\d+$/;
/** The contract's limits of an account number (docs/contract.md 4.1). */
const LENGTH_MIN = 5;
const LENGTH_MAX = 34;

/** Reads the account number of a row. It is never changed here: what is missing is reported. */
export function readAccountNumber(cell: Cell | undefined, bank: Bank): ReadNumber {
  const text = trimmed(textOf(cell));
  if (text === '') return fault('has no account number');
  const isTyped = cell !== undefined && typeof cell !== 'string';
  if (isTyped && cell.kind !== 'number') return fault(`has a ${cell.kind} as account number: ${AS_TEXT}`);
  const number = isTyped ? wholeNumber(text) : text;
  if (number === null || (!isTyped && SCIENTIFIC.test(text)))
    return fault(`has a number that the spreadsheet has rounded: ${AS_TEXT}`);
  const lost = lostZeros(number, bank);
  if (lost !== null) return lost;
  const wrong = bank.account_number_type === 'ACCOUNT_NUMBER' ? formatFault(number) : null;
  if (wrong !== null) return fault(wrong);
  const isUncertain = isTyped && bank.account_number_length === null;
  return { kind: 'number', number, warning: isUncertain ? UNCERTAIN : null };
}

const fault = (text: string): ReadNumber => ({ kind: 'fault', fault: text });

const AS_TEXT = 'format the column as text and type the value again';
const UNCERTAIN = 'the cell is a number, so zeros at its start would be lost: compare it with your source';

/** `1.23457E+15`, also with a decimal comma: what a spreadsheet shows of a long number, and writes into a CSV. */
const SCIENTIFIC = /^\d([.,]\d+)?E\+?\d+$/i;

/** Some programs write an apostrophe before text that looks like a number. */
const trimmed = (text: string): string => text.trim().replace(/^'/, '');

/** A number as its digits; null when it is no whole number, or has more digits than a spreadsheet keeps. */
function wholeNumber(text: string): string | null {
  const digits = /^(\d+)(?:\.0+)?$/.exec(text)?.[1] ?? exactInteger(text);
  return digits === null || digits.length > EXACT_DIGITS_MAX ? null : digits;
}

/** Workbooks store some whole numbers as `1.23456789E8`. */
function exactInteger(text: string): string | null {
  const value = Number(text);
  return Number.isSafeInteger(value) && value >= 0 ? String(value) : null;
}

function lostZeros(number: string, bank: Bank): ReadNumber | null {
  if (!DIGITS.test(number)) return null;
  const { account_number_length: length, account_number_type: type, bank_name: name } = bank;
  if (length !== null && number.length < length) {
    const restored = number.padStart(length, '0');
    const counted = `has ${number.length} digits, and account numbers of ${name} have ${length}`;
    return { kind: 'zeros-lost', restored, fault: `${counted}: zeros at the start are lost` };
  }
  // Mobile numbers in Indonesia are 08… at home and +628… abroad.
  if (type === 'MOBILE_NUMBER' && /^8\d{7,12}$/.test(number))
    return {
      kind: 'zeros-lost',
      restored: `0${number}`,
      fault: 'has a mobile number that has lost its zero at the start',
    };
  return null;
}

function formatFault(number: string): string | null {
  if (!DIGITS.test(number)) return 'has an account number that is not only digits: remove spaces, dots and dashes';
  if (number.length >= LENGTH_MIN && number.length <= LENGTH_MAX) return null;
  return `has an account number of ${number.length} digits: account numbers have ${LENGTH_MIN} to ${LENGTH_MAX}`;
}
