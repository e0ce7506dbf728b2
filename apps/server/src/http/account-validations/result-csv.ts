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

/** RFC 4180. */
export const csvLine = ({ name_match: match, ...view }: ResultJson): string =>
  `${[
    view.sequence,
    view.row,
    view.reference,
    view.bank_code,
    view.bank_name,
    view.account_number,
    view.expected_account_name,
    view.account_name,
    view.is_valid,
    view.status,
    match?.result ?? null,
    match?.score ?? null,
    match?.reasons.join(' ') ?? null,
    view.error_code,
    view.message,
    view.checked_at,
  ]
    .map(cell)
    .join(',')}\r\n`;

/**
 * What a spreadsheet would take for the beginning of a formula, also where it parts cells at semicolons: names and
 * references come from strangers. Some programs take full-width signs for the plain ones.
 */
const FORMULA = /(^|[;\t\r])(\s*[=+\-@＝＋－＠])/g;

function cell(value: string | number | boolean | null): string {
  if (value === null) return '';
  if (typeof value !== 'string') return String(value);
  const text = value.replaceAll(FORMULA, "$1'$2");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
