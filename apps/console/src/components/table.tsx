import type { ComponentChildren } from 'preact';
import { say } from '../preferences.ts';
import { TEXTS } from '../texts.ts';

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Numbers stand at the right, so that their digits are below each other. */
  readonly isNumber?: boolean;
}

/**
 * A table whose rows are walked with the arrow keys: the focus goes to the first link or button of the next row. On a
 * narrow screen each row is a card.
 */
export function Table<Row>({
  caption,
  columns,
  rows,
  keyOf,
  empty,
}: {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** Instead of a table without rows. */
  readonly empty: string;
}) {
  if (rows.length === 0) return <p class="empty">{empty}</p>;
  return (
    <table onKeyDown={moveBetweenRows}>
      <caption class="hidden">{caption}</caption>
      <thead>
        <tr>
          {columns.map(({ title, isNumber }) => (
            <th key={title} scope="col" class={isNumber === true ? 'number' : ''}>
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)}>
            {columns.map(({ title, cell, isNumber }) => (
              <td key={title} data-title={title} class={isNumber === true ? 'number' : ''}>
                <div class="cell">{cell(row)}</div>
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function moveBetweenRows(event: KeyboardEvent): void {
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
  const row = event.target instanceof Element ? event.target.closest('tr') : null;
  if (step === 0 || row === null || event.target instanceof HTMLInputElement) return;
  const next = step === 1 ? row.nextElementSibling : row.previousElementSibling;
  const target = next?.querySelector<HTMLElement>('a, button');
  if (target === null || target === undefined) return;
  event.preventDefault();
  target.focus();
}

export function Pager({ next, first }: { readonly next: string | null; readonly first: string | null }) {
  if (next === null && first === null) return null;
  return (
    <nav class="pager" aria-label={say(TEXTS.nextPage)}>
      {first !== null && <a href={first}>{say(TEXTS.firstPage)}</a>}
      {next !== null && <a href={next}>{say(TEXTS.nextPage)}</a>}
    </nav>
  );
}
