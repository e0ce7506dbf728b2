import { invalid } from './upload.ts';

export const COLUMNS = ['bank_code', 'account_number', 'expected_account_name', 'reference'] as const;
export type Column = (typeof COLUMNS)[number];

const MANDATORY: readonly Column[] = ['bank_code', 'account_number'];
const EXPECTED = `it names bank_code and account_number and, if you like, expected_account_name and reference`;

/** Where the columns of a header row are. Other columns may stand between them. @throws UnreadableUpload */
export function readHeader(names: Iterable<readonly [position: number, name: string]>): ReadonlyMap<Column, number> {
  const positions = new Map<Column, number>();
  for (const [position, name] of names) {
    const normal = name.trim().toLowerCase();
    const column = COLUMNS.find((each) => each === normal);
    if (column === undefined) continue;
    if (positions.has(column)) throw invalid(`the header row names ${column} twice: keep one of the two columns`);
    positions.set(column, position);
  }
  const missing = MANDATORY.filter((column) => !positions.has(column));
  if (missing.length > 0) throw invalid(`the header row lacks ${missing.join(' and ')}: ${EXPECTED}`);
  return positions;
}
