import pg from 'pg';

/**
 * COPY … FROM STDIN, PostgreSQL's way to insert many rows: it parses no statement, plans nothing, and writes rows of a
 * page together (docs/decisions/0059-rows-by-copy.md).
 *
 * A conflict with a key is an error, which ends the database transaction: there is no `on conflict`.
 */

/** SQL: reads rows of `copyText` into these columns of a table. */
export const copySql = (table: string, columns: readonly string[]): string =>
  `copy ${table} (${columns.join(', ')}) from stdin (null E'\\x01')`;

const NULL = '\u0001';

/** What stands in a row for a value. */
export type CopyValue = (value: string | null) => string;

/**
 * A row for each item, as COPY reads them (PostgreSQL, "COPY", "Text Format"), in pieces. `rowOf` returns the row of
 * one: each value through `value`, in the order of the columns that the statement names, with tabs between them. A
 * template literal costs a feed less than an array of the values, and a feed writes two rows for each line.
 */
export function copyText<Item>(
  items: readonly Item[],
  rowOf: (item: Item, value: CopyValue, index: number) => string,
): string[] {
  const pieces: string[] = [];
  for (let start = 0; start < items.length; start += PIECE_ROWS) {
    const end = Math.min(start + PIECE_ROWS, items.length);
    const textOf = (value: CopyValue): string => {
      let text = '';
      for (let index = start; index < end; index += 1) text += `${rowOf(items[index] as Item, value, index)}\n`;
      return text;
    };
    const text = textOf(plain);
    pieces.push(isPlain(text, end - start) ? text : textOf(escaped));
  }
  return pieces;
}

/**
 * Whether no value has anything to escape, as nearly always. A value with a tab is not found: PostgreSQL refuses its
 * row, which has too many values.
 */
function isPlain(text: string, rows: number): boolean {
  if (text.includes('\\') || text.includes('\r')) return false;
  let lines = 0;
  for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', end + 1)) lines += 1;
  return lines === rows;
}

/** V8 keeps a text of more than 128 kB apart from others, which costs more. */
const PIECE_ROWS = 128;

const plain: CopyValue = (value) => value ?? NULL;

const escaped: CopyValue = (value) => value?.replaceAll(/[\\\t\n\r]/g, (character) => ESCAPES[character] ?? '') ?? NULL;

const ESCAPES: Readonly<Record<string, string>> = {
  '\\': String.raw`\\`,
  '\t': String.raw`\t`,
  '\n': String.raw`\n`,
  '\r': String.raw`\r`,
};

/** The connection of pg, which has these messages of the protocol, although its types do not declare them. */
interface CopyConnection extends pg.Connection {
  sendCopyFromChunk(rows: Buffer): void;
  endCopyFrom(): void;
}

class CopyQuery extends pg.Query {
  readonly query_timeout: number;
  readonly #sql: string;
  readonly #rows: readonly string[];

  constructor(sql: string, rows: readonly string[], timeoutMs: number, done: (error: Error | undefined) => void) {
    super(sql, done);
    this.query_timeout = timeoutMs;
    this.#sql = sql;
    this.#rows = rows;
  }

  /**
   * pg calls it to send the statement. The rows follow at once, which saves both sides a wait for each other: where
   * PostgreSQL refuses the statement, it reads and ignores them (PostgreSQL, "Message Flow", "COPY Operations").
   */
  override submit = (connection: pg.Connection): void => {
    const copying = connection as CopyConnection;
    copying.stream.cork();
    copying.query(this.#sql);
    for (const piece of this.#rows) copying.sendCopyFromChunk(Buffer.from(piece));
    copying.endCopyFrom();
    copying.stream.uncork();
  };

  /** pg calls it when PostgreSQL is ready for the rows. */
  handleCopyInResponse(): void {}
}

/** Inserts rows of `copyText`. Rejects with PostgreSQL's error, as a query does. */
export function copyRows(
  client: pg.ClientBase,
  sql: string,
  rows: readonly string[],
  timeoutMs: number,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  client.query(new CopyQuery(sql, rows, timeoutMs, (error) => (error ? reject(error) : resolve())));
  return promise;
}
