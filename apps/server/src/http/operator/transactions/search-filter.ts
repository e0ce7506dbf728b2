import type { BankDirectory } from '../../../domain/bank.ts';
import { isPlainText } from '../../../domain/identifiers.ts';
import { JAKARTA_OFFSET_MS } from '../../../domain/instant.ts';
import { STATUSES } from '../../../domain/transaction.ts';
import { englishOnly } from '../../../lib/bilingual-text.ts';
import { IDENTIFIERS, type SearchFilter, type SearchKey } from '../../../postgres/transaction-search.ts';
import { bankCodeParameter, invalidRequest, moneyParameter, oneOf, timeRange } from '../../query-parameters.ts';
import { accountNumbersOf, bankFilter } from '../../transactions/filter.ts';

export const SEARCH_PARAMETERS = [
  'q',
  ...IDENTIFIERS,
  'request_id',
  'account_number',
  'amount',
  'bank_code',
  'client_id',
  'status',
  'overdue',
  'day',
  'created_from',
  'created_to',
] as const;

export type SearchParameters = Readonly<Partial<Record<(typeof SEARCH_PARAMETERS)[number], string>>>;

export const TEXT_LENGTH_MAX = 128;
const DAY_MS = 24 * 60 * 60 * 1_000;
const DAY = /^\d{4}-\d{2}-\d{2}$/;
/** How far back a search for an amount goes where no time is given. */
const AMOUNT_MS = 7 * DAY_MS;

/** @throws ApiError INVALID_REQUEST */
export function readSearchFilter(parameters: SearchParameters, banks: BankDirectory): SearchFilter {
  const bankCode = bankCodeParameter(parameters.bank_code);
  const bank = bankCode === null ? null : banks.find(bankCode);
  const status = oneOf(parameters.status, STATUSES, 'status');
  const overdue = oneOf(parameters.overdue, ['true', 'false'], 'overdue');
  if (overdue === 'true' && status !== null && status !== 'PROCESS') {
    throw invalidRequest(englishOnly('a transaction is overdue only in PROCESS: leave status out, or overdue'));
  }
  const { from, to } = parameters.day === undefined ? createdRange(parameters) : dayRange(parameters);
  return {
    clientId: textParameter(parameters.client_id, 'client_id'),
    status,
    overdue: overdue === null ? null : overdue === 'true',
    amount: moneyParameter(parameters.amount, 'amount'),
    accountNumbers: accountNumbersOf(parameters.account_number, bank),
    bank: bankFilter(bankCode, bank),
    createdFrom: from,
    createdTo: to,
  };
}

type Range = { readonly from: string | null; readonly to: string | null };

const createdRange = (parameters: SearchParameters): Range => timeRange(parameters, 'created_from', 'created_to');

/** A day in Jakarta. */
function dayRange({ day = '', created_from: from, created_to: to }: SearchParameters): Range {
  if (from !== undefined || to !== undefined) {
    throw invalidRequest(englishOnly('give day, or created_from and created_to, and not both'));
  }
  const startMs = DAY.test(day) ? Date.parse(`${day}T00:00:00Z`) - JAKARTA_OFFSET_MS : Number.NaN;
  if (Number.isNaN(startMs)) throw invalidRequest(englishOnly('day must be a day in Jakarta, for example 2026-11-21'));
  return { from: new Date(startMs).toISOString(), to: new Date(startMs + DAY_MS).toISOString() };
}

/** @throws ApiError INVALID_REQUEST */
export function textParameter(
  text: string | undefined,
  name: string,
  lengthMax: number = TEXT_LENGTH_MAX,
): string | null {
  if (text === undefined) return null;
  if (text !== '' && isPlainText(text, lengthMax)) return text;
  throw invalidRequest(englishOnly(`${name} must have 1 to ${lengthMax} characters, without control characters`));
}

/**
 * The index that a search without `q` and `request_id` begins with: the one that finds the fewest. The filter then has
 * what is left to check.
 */
export function readSearchKey(parameters: SearchParameters, filter: SearchFilter): Search {
  const identifier = IDENTIFIERS.find((name) => parameters[name] !== undefined);
  if (identifier !== undefined) {
    const value = textParameter(parameters[identifier], identifier) ?? '';
    return { key: { by: 'identifier', identifiers: [identifier], values: [value] }, filter };
  }
  if (filter.accountNumbers !== null) {
    return {
      key: { by: 'account_number', values: filter.accountNumbers },
      filter: { ...filter, accountNumbers: null },
    };
  }
  // Overdue transactions are few.
  const isByTime = filter.amount === null || filter.overdue === true;
  return isByTime ? { key: { by: 'time' }, filter } : amountSearch(filter.amount, filter);
}

export interface Search {
  readonly key: SearchKey;
  readonly filter: SearchFilter;
}

/** An amount alone is searched in a range of time: by default the last days. */
export function amountSearch(value: string, filter: SearchFilter): Search {
  const createdTo = filter.createdTo ?? new Date().toISOString();
  const createdFrom = filter.createdFrom ?? new Date(Date.parse(createdTo) - AMOUNT_MS).toISOString();
  return { key: { by: 'amount', value }, filter: { ...filter, amount: null, createdFrom, createdTo } };
}

/** Each of these parameters says by itself what is looked for. @throws ApiError INVALID_REQUEST */
export function assertOneSubject(parameters: SearchParameters): void {
  const subjects = ['q', 'request_id', ...IDENTIFIERS] as const;
  if (subjects.filter((name) => parameters[name] !== undefined).length > 1) {
    throw invalidRequest(englishOnly(`give at most one of ${subjects.join(', ')}`));
  }
}
