import { plain, type Style } from './style.ts';

export interface Column<Row> {
  readonly title: string;
  /** Amounts and counts are aligned on the right. */
  readonly right?: boolean | undefined;
  readonly cell: (row: Row) => string;
  readonly style?: ((row: Row) => Style | null) | undefined;
  /** Where the lines are too long, the column with the smallest number is left out first. Without one it stays. */
  readonly dropOrder?: number | undefined;
  /** A text may be shortened where that is not enough: no ID, which a person copies. */
  readonly shortens?: boolean | undefined;
}

export interface Table<Row> {
  /** The lines of these rows; those of the titles before the first ones. */
  lines(rows: readonly Row[]): string;
}

const GAP = '  ';
/** A text is shortened to no fewer characters than this. */
const SHORTENED_MIN = 8;

/**
 * An aligned table that may be printed part by part: the columns only grow wider. Lines that are longer than
 * `lineWidth` are made shorter as far as the columns allow it: which of them are left out is decided by the first rows.
 */
export function createTable<Row>(
  columns: readonly Column<Row>[],
  paint: (style: Style, text: string) => string,
  lineWidth = Number.POSITIVE_INFINITY,
): Table<Row> {
  let shown = columns;
  let widths: readonly number[] = [];
  let titled = false;

  const line = (cells: readonly string[], painted: (text: string, column: number) => string): string =>
    cells
      .map((whole, index) => {
        const width = widths[index] ?? 0;
        const cell = shortened(whole, width);
        const padding = ' '.repeat(Math.max(0, width - widthOf(cell)));
        const isLast = index === cells.length - 1;
        if (shown[index]?.right === true) return padding + painted(cell, index);
        return painted(cell, index) + (isLast ? '' : padding);
      })
      .join(GAP)
      .trimEnd();

  return {
    lines(rows) {
      if (!titled) shown = fitting(columns, rows, lineWidth);
      const wanted = shown.map((column, index) => Math.max(widths[index] ?? 0, widthOfColumn(column, rows)));
      widths = narrowed(wanted, shown, lineWidth);
      const body = rows.map((row) =>
        line(
          shown.map(({ cell }) => plain(cell(row))),
          (text, column) => {
            const style = shown[column]?.style?.(row) ?? null;
            return style === null ? text : paint(style, text);
          },
        ),
      );
      const titles = shown.map(({ title }) => title);
      if (!titled) body.unshift(line(titles, (text) => paint('dim', text)));
      titled = true;
      return body.map((each) => `${each}\n`).join('');
    },
  };
}

/** The columns whose lines are short enough, or those that are never left out. */
function fitting<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  lineWidth: number,
): readonly Column<Row>[] {
  const isTooLong = (shown: readonly Column<Row>[]): boolean =>
    lengthOf(shown.map((column) => widthOfColumn(column, rows))) > lineWidth;
  const dropped = columns
    .filter(({ dropOrder }) => dropOrder !== undefined)
    .toSorted((one, other) => (one.dropOrder ?? 0) - (other.dropOrder ?? 0));
  return dropped.reduce(
    (shown, column) => (isTooLong(shown) ? shown.filter((each) => each !== column) : shown),
    columns,
  );
}

/** The widths, with those of texts reduced, the widest first, until the line is short enough. */
function narrowed<Row>(widths: readonly number[], columns: readonly Column<Row>[], lineWidth: number): number[] {
  const result = [...widths];
  while (lengthOf(result) > lineWidth) {
    const ofTexts = result.map((width, index) => (columns[index]?.shortens === true ? width : 0));
    const widest = Math.max(...ofTexts);
    if (widest <= SHORTENED_MIN) break;
    result[ofTexts.indexOf(widest)] = widest - 1;
  }
  return result;
}

const lengthOf = (widths: readonly number[]): number =>
  widths.reduce((total, width) => total + width, GAP.length * (widths.length - 1));

const widthOfColumn = <Row>({ title, cell }: Column<Row>, rows: readonly Row[]): number =>
  rows.reduce((width, row) => Math.max(width, widthOf(plain(cell(row)))), title.length);

const shortened = (text: string, width: number): string =>
  widthOf(text) <= width
    ? text
    : `${Array.from(text)
        .slice(0, width - 1)
        .join('')}…`;

const widthOf = (text: string): number => Array.from(text).length;
