/**
 * Many rows in one statement: a text parameter for each column, its values separated, which PostgreSQL takes apart.
 * Measured with 500 transactions, both sides work a third less than with JSON or with arrays.
 */

// Control characters are in nothing that is stored: not in identifiers or names, and JSON escapes them.
const SEPARATOR = '\u0001';

/** One parameter for each column, in their order. null is written as the empty text: read it with `nullif`. */
export function toColumnParameters<Column extends string>(
  columns: readonly Column[],
  rows: readonly Readonly<Record<Column, string | null>>[],
): string[] {
  return columns.map((column) => rows.map((row) => safe(row[column] ?? '')).join(SEPARATOR));
}

/**
 * The rows again, as a table `input` with these columns, all of them text. Parameters start with $1. A column whose
 * only value is the empty text comes back as null. `ordinality` names a column more: the row's place, from 1.
 */
export function tableFromParameters(columns: readonly string[], ordinality?: string): string {
  const tables = columns.map((_, index) => `string_to_table($${index + 1}, E'\\x01')`);
  return ordinality === undefined
    ? `rows from (${tables.join(', ')}) as input (${columns.join(', ')})`
    : `rows from (${tables.join(', ')}) with ordinality as input (${[...columns, ordinality].join(', ')})`;
}

/** One separator too many would give every following row another row's value. */
function safe(value: string): string {
  if (value.includes(SEPARATOR)) throw new Error('a value to be stored holds a control character');
  return value;
}
