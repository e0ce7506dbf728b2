import pg from 'pg';

/**
 * COPY … FROM STDIN, PostgreSQL's way to insert many rows: it parses no statement, plans nothing, and writes rows of a
 * page together (docs/decisions/0059-rows-by-copy.md).
 *
 * A conflict with a key is an error, which ends the database transaction: there is no `on conflict`.
 */

/** SQL: reads rows of `copyRow` into these columns of a table. */
export const copySql = (table: string, columns: readonly string[]): string =>
  `copy ${table} (${columns.join(', ')}) from stdin (null E'\\x01')`;

// In the text format of COPY (PostgreSQL, "COPY", "Text Format"). Nothing that is stored contains a control character.
const NULL = '\u0001';
const SEPARATOR = '\t';
const SPECIAL = /[\\\n\r]/;

/**
 * One row, as COPY reads it. The values are in the order of the columns that the statement names. `further` ones follow
 * them: one array of both would be a copy for each row.
 */
export function copyRow(values: readonly (string | null)[], further: readonly (string | null)[] = NONE): string {
  let row = values[0] ?? NULL;
  for (let index = 1; index < values.length; index += 1) row += SEPARATOR + (values[index] ?? NULL);
  for (let index = 0; index < further.length; index += 1) row += SEPARATOR + (further[index] ?? NULL);
  // Hardly any has something to escape. Were there a separator in a value, PostgreSQL would refuse the row: it would
  // have too many values.
  return SPECIAL.test(row) ? escapedRow([...values, ...further]) : `${row}\n`;
}

const NONE: readonly (string | null)[] = [];

const escapedRow = (values: readonly (string | null)[]): string =>
  `${values.map((value) => (value === null ? NULL : escaped(value))).join(SEPARATOR)}\n`;

const ESCAPES: Readonly<Record<string, string>> = {
  '\\': String.raw`\\`,
  '\t': String.raw`\t`,
  '\n': String.raw`\n`,
  '\r': String.raw`\r`,
};

const escaped = (value: string): string => value.replaceAll(/[\\\t\n\r]/g, (character) => ESCAPES[character] ?? '');

/** The connection of pg, which has these messages of the protocol, although its types do not declare them. */
interface CopyConnection {
  sendCopyFromChunk(rows: Buffer): void;
  endCopyFrom(): void;
}

class CopyQuery extends pg.Query {
  readonly query_timeout: number;
  readonly #rows: string;

  constructor(sql: string, rows: string, timeoutMs: number, done: (error: Error | undefined) => void) {
    super(sql, done);
    this.query_timeout = timeoutMs;
    this.#rows = rows;
  }

  /** pg calls it when PostgreSQL is ready for the rows. After an error PostgreSQL reads and ignores them. */
  handleCopyInResponse(connection: CopyConnection): void {
    connection.sendCopyFromChunk(Buffer.from(this.#rows));
    connection.endCopyFrom();
  }
}

/** Inserts rows of `copyRow`. Rejects with PostgreSQL's error, as a query does. */
export function copyRows(client: pg.ClientBase, sql: string, rows: string, timeoutMs: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  client.query(new CopyQuery(sql, rows, timeoutMs, (error) => (error ? reject(error) : resolve())));
  return promise;
}
