import { csvRow } from '../../lib/csv.ts';
import type { ResultJson } from './result-json.ts';

export const CSV_HEADER = csvRow([
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
]);

/** One result as a line of CSV (RFC 4180). */
export const csvLine = ({ name_match: match, ...result }: ResultJson): string =>
  csvRow([
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
  ]);
