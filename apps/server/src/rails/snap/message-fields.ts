import { randomInt } from 'node:crypto';
import { type Bank, isInstitution } from '../../domain/bank.ts';
import { snapTimestamp } from '../../snap/timestamp.ts';
import headOffices from './profiles/head-offices.json' with { type: 'json' };
import type { BankCodeForm, TimestampStyle } from './profiles/profile.ts';

/** Values with a format of their own in SNAP's headers and bodies. */

/** The maximum that every bank accepts (Mandiri; ASPI, services 75 and 76). */
const EXTERNAL_ID_DIGITS = 19;
const SECOND_DIGITS = 5;
const COUNT_DIGITS = 8;
const COUNT_END = 10 ** COUNT_DIGITS;

/**
 * Creates values for X-EXTERNAL-ID: a numeric string that is unique within a day. It consists of the second of the day,
 * a random number of this process, which fills the rest of `digits`, and a counter.
 */
export function createExternalIds(now: () => number = Date.now, digits = EXTERNAL_ID_DIGITS): () => string {
  const processDigits = digits - SECOND_DIGITS - COUNT_DIGITS;
  const process = Array.from({ length: processDigits }, () => randomInt(10)).join('');
  let count = 0;
  return () => {
    const secondOfDay = Math.floor(now() / 1000) % 86_400;
    count = (count + 1) % COUNT_END;
    const second = secondOfDay.toString().padStart(SECOND_DIGITS, '0');
    return `${second}${process}${count.toString().padStart(COUNT_DIGITS, '0')}`;
  };
}

const utcTimestamp = (now: number): string => `${new Date(now).toISOString().slice(0, 19)}Z`;

/**
 * X-TIMESTAMP for now, in the bank's style. A timestamp in whole seconds is made once for all requests of its second.
 */
export function createSnapClock(style: TimestampStyle): () => string {
  if (style === 'utc_milliseconds') return () => new Date().toISOString();
  const write = style === 'utc' ? utcTimestamp : snapTimestamp;
  let textSecond = Number.NaN;
  let text = '';
  return () => {
    const second = Math.floor(Date.now() / 1000);
    if (second !== textSecond) {
      textSecond = second;
      text = write(second * 1000);
    }
    return text;
  };
}

/** Four digits of the head office's branch by BIC (Bank Indonesia's "sandi bank"; source: docs/banks.md). */
const HEAD_OFFICES: ReadonlyMap<string, string> = new Map(Object.entries(headOffices));

/** `beneficiaryBankCode`: a bank's code in this form; null when it has none that identifies this bank alone. */
export function bankCodeOf(form: BankCodeForm, bank: Bank): string | null {
  if (!isInstitution(bank)) return null;
  switch (form) {
    case 'bic':
      return bank.bic;
    case 'clearing_code':
      // A sharia unit shares the code of its bank. With that code, the inquiry would be about the bank's accounts.
      return bank.unit === 'sharia_unit' ? null : bank.clearingCode;
    case 'clearing_and_branch': {
      const branch = HEAD_OFFICES.get(bank.bic);
      return branch === undefined ? null : `${bank.clearingCode}${branch}`;
    }
  }
}
