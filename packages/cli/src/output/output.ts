import { maskName, maskNumber } from './mask.ts';
import { createStatusLine, type StatusLine } from './status-line.ts';
import { createPaint, plain, plainButColors, plainLines, type Style, terminalJson } from './style.ts';
import { type Column, createTable, type Table } from './table.ts';

export interface OutputOptions {
  readonly json: boolean;
  /** Shows account numbers and names in full. */
  readonly unmasked: boolean;
}

/**
 * What a command says. Results go to standard output: as text for people or, with `--json`, as one JSON document in a
 * line. Everything else goes to standard error, so that a program that reads the results reads nothing else. A terminal
 * obeys nothing in it but colors of our own and ends of lines. What the service says goes through `plain` besides, so
 * that it begins no line of its own.
 */
export interface Output {
  readonly json: boolean;
  /** Progress; null unless standard error is a terminal. */
  readonly statusLine: StatusLine | null;
  /** A result. `text` is asked only without `--json`; it may have several lines. */
  result(data: unknown, text: () => string): void;
  /** Resolves when all results so far are written. A reader that is gone ends the process instead (program.ts). */
  written(): Promise<void>;
  /** Rows: with `--json` one document each. The titles are printed before the first rows. */
  rows<Row>(table: Table<Row>, rows: readonly Row[], document?: (row: Row) => unknown): void;
  table<Row>(columns: readonly Column<Row>[]): Table<Row>;
  /** What happens, for people: progress, a connection that is lost. With `--json` a JSON line. */
  note(message: string, fields?: Readonly<Record<string, unknown>>): void;
  /** What could not be done. */
  failure(fields: Readonly<Record<string, unknown>>, text: string): void;
  paint(style: Style, text: string): string;
  /** An account number, masked unless the person asked for it. Only for text: documents have it in full. */
  number(number: string): string;
  name(name: string | null): string;
}

export interface Streams {
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
}

export function createOutput({ stdout, stderr }: Streams, { json, unmasked }: OutputOptions): Output {
  const paint = createPaint(stdout);
  const paintNote = createPaint(stderr);
  const document = (data: unknown): string => `${terminalJson(data)}\n`;
  const printed = (text: string): string => text.split('\n').map(plainButColors).join('\n');
  const statusLine = stderr.isTTY && !json ? createStatusLine(stderr) : null;
  return {
    json,
    statusLine,
    paint,
    result(data, text) {
      stdout.write(json ? document(data) : `${printed(text())}\n`);
    },
    written: () =>
      new Promise((resolve) => {
        stdout.write('', (error) => {
          if (!error) resolve();
        });
      }),
    rows(table, rows, documentOf = (row) => row) {
      stdout.write(json ? rows.map((row) => document(documentOf(row))).join('') : table.lines(rows));
    },
    // A terminal that does not know its width says 0.
    table: (columns) => createTable(columns, paint, (stdout.isTTY && stdout.columns) || Number.POSITIVE_INFINITY),
    note(message, fields = {}) {
      statusLine?.clear();
      stderr.write(
        json ? document({ level: 'info', message, ...fields }) : `${paintNote('dim', plainLines(message))}\n`,
      );
      statusLine?.restore();
    },
    failure(fields, text) {
      stderr.write(json ? document({ level: 'error', ...fields }) : `${plainLines(text)}\n`);
    },
    number: (number) => plain(unmasked ? number : maskNumber(number)),
    name: (name) => plain(name === null ? '' : unmasked ? name : maskName(name)),
  };
}
