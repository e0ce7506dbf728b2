import { AccountNumber } from '../../../domain/account.ts';
import { isReferenceId, isTransactionId } from '../../../domain/identifiers.ts';
import { parseMoney } from '../../../domain/money.ts';

/** What a text may be that a support agent pastes into the search, by its form alone. */
export interface SearchText {
  /** Identifiers to look up; null when the text cannot be one. */
  readonly identifiers: readonly string[] | null;
  /** The forms of an account number. */
  readonly accountNumbers: readonly string[] | null;
  /** An exact decimal. */
  readonly amount: string | null;
  readonly requestId: string | null;
}

const CURRENCY = /^(?:rp\.?|idr)\s*/i;
/** Between the digits of a number that was printed for people. */
const SEPARATORS = /[\s.-]/g;

/** People copy spaces around a text, separators between digits, and a currency before an amount. */
export function readSearchText(pasted: string): SearchText {
  const text = pasted.trim();
  if (!isReferenceId(text)) return { identifiers: null, accountNumbers: null, amount: null, requestId: null };
  const hasCurrency = CURRENCY.test(text);
  const capitals = text.toUpperCase();
  const identifiers = text !== capitals && isTransactionId(capitals) ? [text, capitals] : [text];
  return {
    identifiers: hasCurrency ? null : identifiers,
    accountNumbers: hasCurrency ? null : accountNumbersIn(text),
    amount: !hasCurrency && ACCOUNT.test(text) ? null : amountIn(text.replace(CURRENCY, '')),
    requestId: hasCurrency || /\s/.test(text) ? null : text,
  };
}

/** The number without separators, and the two forms of a mobile number, which a core may have sent. */
function accountNumbersIn(text: string): readonly string[] | null {
  const compact = text.replaceAll(SEPARATORS, '');
  const mobile = AccountNumber.parseMobile(compact)?.reveal() ?? null;
  if (mobile !== null) return [mobile, `62${mobile.slice(1)}`];
  const number = AccountNumber.parse(compact);
  return number === null ? null : [number.reveal()];
}

/**
 * Ten digits and nothing else are a number of an account or a telephone, and no billions of Rupiah: as an amount they
 * would be looked for among all transactions of a week.
 */
const ACCOUNT = /^\d{10,}$/;

/** `150.000` and `150.000,00` as Indonesians write it, `150,000.00`, `150000`, and `150000,-`. */
const IN_GROUPS = /^\d{1,3}(?:\.\d{3})+(?:,(\d{1,2}|-))?$|^\d{1,3}(?:,\d{3})+(?:\.\d{1,2})?$/;
const PLAIN = /^\d+(?:[.,]\d{1,2}|,-)?$/;

function amountIn(text: string): string | null {
  if (!IN_GROUPS.test(text) && !PLAIN.test(text)) return null;
  const decimals = /[.,](\d{1,2})$/.exec(text)?.[1];
  const whole = (decimals === undefined ? text : text.slice(0, -decimals.length - 1)).replaceAll(/\D/g, '');
  const amount = parseMoney(`${whole.replace(/^0+(?=\d)/, '')}${decimals === undefined ? '' : `.${decimals}`}`);
  // An account number may begin with zeros, an amount does not.
  return amount === '0.00' || /^0\d/.test(whole) ? null : amount;
}
