/**
 * Money is an exact decimal with two places, as text ("150000.00"), and computed in hundredths as BigInt. It is never a
 * binary floating-point number, which cannot represent 9007199254740993.01.
 */

// PostgreSQL stores amounts as numeric(20,2): 18 digits before the point.
const DECIMAL = /^(0|[1-9][0-9]{0,17})(?:\.([0-9]{1,2}))?$/;

/** The canonical text of a plain, non-negative decimal with at most two places; null for anything else. */
export function parseMoney(text: string): string | null {
  const match = DECIMAL.exec(text);
  if (match === null) return null;
  const [, whole, places = ''] = match;
  return `${whole}.${places.padEnd(2, '0')}`;
}

/** The exact sum of two amounts in canonical text. */
export function addMoney(one: string, other: string): string {
  const hundredths = (toHundredths(one) + toHundredths(other)).toString().padStart(3, '0');
  return `${hundredths.slice(0, -2)}.${hundredths.slice(-2)}`;
}

const toHundredths = (amount: string): bigint => BigInt(amount.replace('.', ''));
