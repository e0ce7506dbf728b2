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

/** Amounts of up to 12 digits before the point: their sum in hundredths is an integer that a number holds exactly. */
const SHORT_LENGTH_MAX = 15;

/** The exact sum of two amounts in canonical text. */
export function addMoney(one: string, other: string): string {
  const isShort = one.length <= SHORT_LENGTH_MAX && other.length <= SHORT_LENGTH_MAX;
  // BigInt costs several times as much.
  const sum = isShort ? toShortHundredths(one) + toShortHundredths(other) : toHundredths(one) + toHundredths(other);
  const hundredths = sum.toString().padStart(3, '0');
  return `${hundredths.slice(0, -2)}.${hundredths.slice(-2)}`;
}

/** Digit by digit, which costs a fraction of `Number`. */
function toShortHundredths(amount: string): number {
  let hundredths = 0;
  for (let index = 0; index < amount.length; index += 1) {
    const code = amount.charCodeAt(index);
    if (code !== POINT) hundredths = hundredths * 10 + code - DIGIT_ZERO;
  }
  return hundredths;
}

const POINT = 0x2e;
const DIGIT_ZERO = 0x30;

const toHundredths = (amount: string): bigint => BigInt(amount.replace('.', ''));
