import pg from 'pg';

/**
 * COPY … FROM STDIN, PostgreSQL's way to insert many rows: it parses no statement, plans nothing, and writes rows of a
 * page together (docs/decisions/0059-rows-by-copy.md).
 *
 * A conflict with a key is an error, which ends the database transaction: there is no `on conflict`.
 */

/** In the text format of COPY (PostgreSQL, "COPY", "Text Format"). */
const NULL = String.raw`\N`;
const SEPARATOR = '\t';
const SPECIAL = /[\\\t\n\r]/;

/** One row, as COPY reads it. The values are in the order of the columns that the statement names. */
export const copyRow = (values: readonly (string | null)[]): string => `${values.map(copyValue).join(SEPARATOR)}\n`;

const copyValue = (value: string | null): string => {
  if (value === null) return NULL;
  return SPECIAL.test(value) ? escaped(value) : value;
};

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
