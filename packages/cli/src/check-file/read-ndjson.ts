import { type Cell, requireFewRows, type Table, type TableRow, UnusableFile } from './table.ts';

/** The properties of the objects that were read, in the order in which they first occur. */
type Columns = Map<string, number>;

/**
 * Reads one JSON object for each line. A line with a fault affects no other: it becomes a row with a `fault`.
 * @throws UnusableFile when no line is an object
 */
export function readNdjson(text: string): Table {
  const columns: Columns = new Map();
  const rows: TableRow[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    requireFewRows(rows.length + 1);
    const cells = cellsOf(line, columns);
    if (cells === null) rows.push({ line: index + 1, cells: [line.trim()], fault: NO_OBJECT });
    else rows.push({ line: index + 1, cells, fault: null });
  }
  if (columns.size === 0)
    throw new UnusableFile(
      'no line of the file is a JSON object: write one object on each line, without commas between',
    );
  return { header: [...columns.keys()], rows, delimiter: ',' };
}

const NO_OBJECT = 'is not a JSON object: write one object on each line, such as {"bank": "BCA", "account": "…"}';

/** Null when the line is no object. */
function cellsOf(line: string, columns: Columns): readonly Cell[] | null {
  const object = parse(line);
  if (object === null) return null;
  const cells: Cell[] = [];
  for (const [name, cell] of object) {
    const position = columns.get(name) ?? columns.size;
    columns.set(name, position);
    cells[position] = cell;
  }
  return Array.from(cells, (cell) => cell ?? '');
}

/** Numbers keep the digits of the line: TC39, "JSON.parse source text access". */
function parse(line: string): readonly (readonly [string, Cell])[] | null {
  // By the object that holds them: a nested object may have a member of the same name.
  const sources = new WeakMap<object, Map<string, string>>();
  let value: unknown;
  try {
    value = JSON.parse(line, function noteSource(this: object, name, each: unknown, context?: { source?: string }) {
      if (typeof each === 'number' && context?.source !== undefined)
        sources.set(this, (sources.get(this) ?? new Map<string, string>()).set(name, context.source));
      return each;
    });
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  const own = sources.get(value);
  return Object.entries(value).map(([name, each]: [string, unknown]) => [name, cellOf(each, own?.get(name))]);
}

function cellOf(value: unknown, source: string | undefined): Cell {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return { kind: 'number', text: source ?? String(value) };
  if (typeof value === 'boolean') return { kind: 'boolean', text: String(value) };
  return { kind: 'object', text: JSON.stringify(value) };
}
