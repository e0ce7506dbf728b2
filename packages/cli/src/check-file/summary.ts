import { RESULTS, type RowAnswer, type RowResult } from './answers.ts';
import type { CheckedRow, RowsToCheck } from './read-rows.ts';

export type Counts = Readonly<Record<RowResult, number>>;

/** What the whole file came to. */
export interface Summary {
  readonly rows: number;
  /** Each account is asked about once, however many rows have it. */
  readonly accounts: number;
  readonly duplicates: number;
  readonly results: Counts;
  /** Of the rows with a name and a verdict. */
  readonly names: Readonly<Record<string, number>>;
  readonly banks: readonly ({ readonly bank: string } & Counts)[];
  readonly lines: ReportedLines;
}

/** Lines of the file that a person should look at. At most `LINES_MAX` of each kind. */
export interface ReportedLines {
  readonly rejected: readonly RejectedLine[];
  readonly zeros_lost: readonly number[];
  readonly zeros_restored: readonly number[];
  readonly zeros_uncertain: readonly number[];
}

export interface RejectedLine {
  readonly line: number;
  readonly error_code: string | null;
  readonly message: string | null;
}

const LINES_MAX = 1_000;
const NO_BANK = '(no bank)';

export function summarize(
  { rows, accounts, duplicates, zeros }: RowsToCheck,
  answerOf: (row: CheckedRow) => RowAnswer,
): Summary {
  const results = emptyCounts();
  const names: Record<string, number> = {};
  const banks = new Map<string, Record<RowResult, number>>();
  const rejected: RejectedLine[] = [];
  for (const row of rows) {
    const { result, name_match: match, error_code, message } = answerOf(row);
    results[result] += 1;
    if (match !== null) names[match.result] = (names[match.result] ?? 0) + 1;
    const bank = row.bank?.bank_name ?? NO_BANK;
    const counts = banks.get(bank) ?? emptyCounts();
    counts[result] += 1;
    banks.set(bank, counts);
    if (result === 'rejected' && rejected.length < LINES_MAX) rejected.push({ line: row.line, error_code, message });
  }
  return {
    rows: rows.length,
    accounts: accounts.length,
    duplicates,
    results,
    names,
    banks: [...banks]
      .sort(([, one], [, other]) => totalOf(other) - totalOf(one))
      .map(([bank, { valid, invalid, unknown, rejected: notChecked }]) => ({
        bank,
        valid,
        invalid,
        unknown,
        rejected: notChecked,
      })),
    lines: {
      rejected,
      zeros_lost: zeros.lost.slice(0, LINES_MAX),
      zeros_restored: zeros.restored.slice(0, LINES_MAX),
      zeros_uncertain: zeros.uncertain.slice(0, LINES_MAX),
    },
  };
}

const emptyCounts = (): Record<RowResult, number> => ({ valid: 0, invalid: 0, unknown: 0, rejected: 0 });

const totalOf = (counts: Counts): number => RESULTS.reduce((sum, result) => sum + counts[result], 0);
