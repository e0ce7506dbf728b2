export type CsvValue = string | number | boolean | null;

/** A line of CSV (RFC 4180). null becomes an empty cell. */
export const csvRow = (values: readonly CsvValue[], delimiter = ','): string =>
  `${values.map((value) => cell(value, delimiter)).join(delimiter)}\r\n`;

/**
 * The start of text that a spreadsheet program would execute as a formula (OWASP, "CSV injection"), also in programs
 * that separate cells at semicolons. Names and references come from third parties. Some programs treat full-width signs
 * like the plain ones, and `|` calls another program (DDE).
 */
const FORMULA = /(^|[;\t\r\n])(?=[^\S\t\r\n]*[=+\-@|＝＋－＠｜])/g;
/** Some programs skip these before they look for a formula. */
const LEADING_CONTROL = /^[\t\r\n]/;

function cell(value: CsvValue, delimiter: string): string {
  if (value === null) return '';
  if (typeof value !== 'string') return String(value);
  const text = value.replaceAll(FORMULA, "$1'").replace(LEADING_CONTROL, "'$&");
  return text.includes(delimiter) || /["\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
