/**
 * Money is an exact decimal with two places, as text ("150000.00"), and computed in whole hundredths. It is never a
 * binary fraction: a floating-point number cannot represent 9007199254740993.01.
 */

// PostgreSQL stores amounts as numeric(20,2): 18 digits before the point.
const DECIMAL = /^(0|[1-9][0-9]{0,17})(?:\.([0-9]{1,2}))?$/;

const CANONICAL = /^(?:0|[1-9][0-9]{0,17})\.[0-9]{2}$/;

/** The canonical text of a plain, non-negative decimal with at most two places; null for anything else. */
export function parseMoney(text: string): string | null {
  if (CANONICAL.test(text)) return text;
  const match = DECIMAL.exec(text);
  if (match === null) return null;
  const [, whole, places = ''] = match;
  return `${whole}.${places.padEnd(2, '0')}`;
}

/** Of amounts that have at most 15 digits: a number holds their sum exactly. */
const SHORT_LENGTH_MAX = 15;

/** The exact sum of two amounts in canonical text. */
export function addMoney(one: string, other: string): string {
  const hundredths = addDigits(one, other).padStart(3, '0');
  return `${hundredths.slice(0, -2)}.${hundredths.slice(-2)}`;
}

/** The exact sum of the numbers that are left without the points: in hundredths, or whole where there are no cents. */
export function addDigits(one: string, other: string): string {
  const isShort = one.length <= SHORT_LENGTH_MAX && other.length <= SHORT_LENGTH_MAX;
  // BigInt costs several times as much.
  return isShort ? String(toShortNumber(one) + toShortNumber(other)) : String(toBigInt(one) + toBigInt(other));
}

/** Digit by digit, which costs a fraction of `Number`. */
function toShortNumber(amount: string): number {
  let number = 0;
  for (let index = 0; index < amount.length; index += 1) {
    const code = amount.charCodeAt(index);
    if (code !== POINT) number = number * 10 + code - DIGIT_ZERO;
  }
  return number;
}

const POINT = 0x2e;
const DIGIT_ZERO = 0x30;

const toBigInt = (amount: string): bigint => BigInt(amount.replace('.', ''));
