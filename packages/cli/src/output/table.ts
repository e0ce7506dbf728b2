import { plain, type Style } from './style.ts';

export interface Column<Row> {
  readonly title: string;
  /** Amounts and counts are aligned on the right. */
  readonly right?: boolean | undefined;
  readonly cell: (row: Row) => string;
  readonly style?: ((row: Row) => Style | null) | undefined;
}

export interface Table<Row> {
  /** The lines of these rows; those of the titles before the first ones. */
  lines(rows: readonly Row[]): string;
}

const GAP = '  ';

/** An aligned table that may be printed part by part: the columns only grow wider. */
export function createTable<Row>(
  columns: readonly Column<Row>[],
  paint: (style: Style, text: string) => string,
): Table<Row> {
  const widths = columns.map(({ title }) => title.length);
  let titled = false;

  const line = (cells: readonly string[], painted: (text: string, column: number) => string): string =>
    cells
      .map((cell, index) => {
        const padding = ' '.repeat(Math.max(0, (widths[index] ?? 0) - widthOf(cell)));
        const isLast = index === cells.length - 1;
        if (columns[index]?.right === true) return padding + painted(cell, index);
        return painted(cell, index) + (isLast ? '' : padding);
      })
      .join(GAP)
      .trimEnd();

  return {
    lines(rows) {
      const cells = rows.map((row) => columns.map(({ cell }) => plain(cell(row))));
      for (const row of cells) for (const [index, cell] of row.entries()) grow(widths, index, cell);
      const titles = columns.map(({ title }) => title);
      const body = rows.map((row, index) =>
        line(cells[index] ?? [], (text, column) => {
          const style = columns[column]?.style?.(row) ?? null;
          return style === null ? text : paint(style, text);
        }),
      );
      if (!titled) body.unshift(line(titles, (text) => paint('dim', text)));
      titled = true;
      return body.map((each) => `${each}\n`).join('');
    },
  };
}

function grow(widths: number[], index: number, cell: string): void {
  widths[index] = Math.max(widths[index] ?? 0, widthOf(cell));
}

const widthOf = (text: string): number => Array.from(text).length;
