import { DECIMAL_FIELDS, type Decimal } from './generated/api.ts';

/**
 * An amount as the service prints it: a JSON number behind the name of a decimal field. Inside a text the quotation
 * mark that ends the name would be escaped, so a text that looks like an amount does not match.
 */
const AMOUNT: RegExp = /* @__PURE__ */ new RegExp(`"(${DECIMAL_FIELDS.join('|')})":\\s*(-?\\d+(?:\\.\\d+)?)`, 'g');

/**
 * Parses JSON of the service. Amounts become texts before a binary floating-point number could round them
 * (docs/contract.md 2.5).
 * @throws SyntaxError when it is no JSON
 */
export const parseExact = (json: string): unknown => JSON.parse(json.replace(AMOUNT, '"$1":"$2"'));

/** The JSON that the service would send: amounts are numbers, digit by digit. */
export const stringifyExact = (value: unknown): string =>
  JSON.stringify(value).replace(
    /* @__PURE__ */ new RegExp(`"(${DECIMAL_FIELDS.join('|')})":"(-?\\d+(?:\\.\\d+)?)"`, 'g'),
    '"$1":$2',
  );

/**
 * An amount in its smallest unit, a hundredth: `toMinor('150000.00')` is `15000000n`. Calculate with these.
 * @throws RangeError when the text is no decimal with at most two places
 */
export function toMinor(amount: Decimal): bigint {
  const [, sign = '', whole = '', places = ''] = /^(-?)(\d+)(?:\.(\d{1,2}))?$/.exec(amount) ?? [];
  if (whole === '') throw new RangeError('not an amount: send a decimal with at most two places, such as 150000.00');
  return BigInt(`${sign}${whole}${places.padEnd(2, '0')}`);
}

/** The decimal of an amount in hundredths: `fromMinor(15000000n)` is `'150000.00'`. */
export function fromMinor(minor: bigint): Decimal {
  const digits = String(minor < 0n ? -minor : minor).padStart(3, '0');
  return `${minor < 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}` as Decimal;
}
