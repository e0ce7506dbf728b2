/**
 * Passes many rows to one statement: one text parameter per column, which holds the column's values with a separator
 * between them and which PostgreSQL splits. Measured with 500 transactions, this costs both sides a third less than
 * JSON or arrays.
 */

// Nothing that is stored contains a control character: identifiers and names do not, and JSON escapes them.
const SEPARATOR = '\u0001';
const LIST_SEPARATOR = '\u0002';

/** One parameter per column, in the order of `columns`. null is written as the empty text; read it with `nullif`. */
export function toColumnParameters<Column extends string>(
  columns: readonly Column[],
  rows: readonly Readonly<Record<Column, string | null>>[],
): string[] {
  return columns.map((column) => toArrayParameter(rows.map((row) => row[column] ?? '')));
}

/** The values of an array in one text; `arrayFromText` turns it back. */
export const toArrayParameter = (values: readonly string[]): string => checked(values, SEPARATOR).join(SEPARATOR);

/**
 * SQL that turns the parameters, from $1 on, back into rows: a table `input` with these columns, all of type text. A
 * column whose only value is the empty text comes back as null. `ordinality` names one more column: the row's position,
 * from 1.
 */
export function tableFromParameters(columns: readonly string[], ordinality?: string): string {
  const tables = columns.map((_, index) => `string_to_table($${index + 1}, E'\\x01')`);
  return ordinality === undefined
    ? `rows from (${tables.join(', ')}) as input (${columns.join(', ')})`
    : `rows from (${tables.join(', ')}) with ordinality as input (${[...columns, ordinality].join(', ')})`;
}

/** SQL for the values of one column, as an array. Columns are counted from 1. */
export const arrayFromParameter = (column: number): string => arrayFromText(`$${column}`);

const arrayFromText = (text: string): string => `string_to_array(${text}, E'\\x01')`;

/** Several values in one value of a column; `listFromText` turns them back. */
export const toListValue = (values: readonly string[]): string => checked(values, LIST_SEPARATOR).join(LIST_SEPARATOR);

/** SQL for the values of one value of a column, as an array. */
export const listFromText = (text: string): string => `string_to_array(${text}, E'\\x02')`;

/** A separator inside a value would give every later row another row's value. */
function checked(values: readonly string[], separator: string): readonly string[] {
  if (values.some((value) => value.includes(separator)))
    throw new Error('a value to store contains a control character');
  return values;
}
