export type CsvValue = string | number | boolean | null;

/** A line of CSV (RFC 4180). null becomes an empty cell. */
export const csvRow = (values: readonly CsvValue[], delimiter = ','): string =>
  `${values.map((value) => cell(value, delimiter)).join(delimiter)}\r\n`;

/**
 * The start of text that a spreadsheet program would execute as a formula (OWASP, "CSV injection"), also in programs
 * that separate cells at another character than the file does. Names and references come from third parties. Some
 * programs treat full-width signs like the plain ones, and `|` calls another program (DDE).
 */
const formulaAfter = (separators: string, exempt = ''): RegExp =>
  new RegExp(`(^|[${separators}])${exempt}(?=[^\\S\\t\\r\\n]*[=+\\-@|＝＋－＠｜])`, 'g');

/** Texts with a comma are quoted here, so that no program separates them. */
const FORMULA_IN_COMMAS = formulaAfter(';\\t\\r\\n');
/** `Rp 1.000,-` is how amounts are written in Indonesia. No formula begins with a sign and a semicolon. */
const FORMULA_IN_SEMICOLONS = formulaAfter(',;\\t\\r\\n', '(?!(?<=,)-$)');
const FORMULA = formulaAfter(',;\\t\\r\\n');

const formulaOf = (delimiter: string): RegExp => {
  if (delimiter === ',') return FORMULA_IN_COMMAS;
  return delimiter === ';' ? FORMULA_IN_SEMICOLONS : FORMULA;
};

/** Some programs skip these before they look for a formula. */
const LEADING_CONTROL = /^[\t\r\n]/;

function cell(value: CsvValue, delimiter: string): string {
  if (value === null) return '';
  if (typeof value !== 'string') return String(value);
  const text = value.replaceAll(formulaOf(delimiter), "$1'").replace(LEADING_CONTROL, "'$&");
  return text.includes(delimiter) || /["\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
