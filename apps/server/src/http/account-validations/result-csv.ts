import type { ResultJson } from './result-json.ts';

export const CSV_HEADER = `${[
  'sequence',
  'row',
  'reference',
  'bank_code',
  'bank_name',
  'account_number',
  'expected_account_name',
  'account_name',
  'is_valid',
  'status',
  'name_match',
  'name_match_score',
  'name_match_reasons',
  'error_code',
  'message',
  'checked_at',
].join(',')}\r\n`;

/** One result as a line of CSV (RFC 4180). */
export const csvLine = ({ name_match: match, ...result }: ResultJson): string =>
  `${[
    result.sequence,
    result.row,
    result.reference,
    result.bank_code,
    result.bank_name,
    result.account_number,
    result.expected_account_name,
    result.account_name,
    result.is_valid,
    result.status,
    match?.result ?? null,
    match?.score ?? null,
    match?.reasons.join(' ') ?? null,
    result.error_code,
    result.message,
    result.checked_at,
  ]
    .map(cell)
    .join(',')}\r\n`;

/**
 * The start of text that a spreadsheet program would execute as a formula (OWASP, "CSV injection"), also in programs
 * that separate cells at semicolons. Names and references come from third parties. Some programs treat full-width signs
 * like the plain ones, and `|` calls another program (DDE).
 */
const FORMULA = /(^|[;\t\r\n])(?=[^\S\t\r\n]*[=+\-@|＝＋－＠｜])/g;
/** Some programs skip these before they look for a formula. */
const LEADING_CONTROL = /^[\t\r\n]/;

function cell(value: string | number | boolean | null): string {
  if (value === null) return '';
  if (typeof value !== 'string') return String(value);
  const text = value.replaceAll(FORMULA, "$1'").replace(LEADING_CONTROL, "'$&");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
