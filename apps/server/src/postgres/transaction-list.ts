import { isFinal, STATUSES, type Status } from '../domain/transaction.ts';
import type { Database } from './database.ts';
import { databaseOfClient } from './distributed/one-client.ts';
import { parsePrinted, printed } from './rendered-transactions.ts';

/** Which transactions of a client to list; null where a condition is not given. Times are ISO 8601 UTC. */
export interface TransactionFilter {
  readonly status: Status | null;
  /** From this time on. */
  readonly createdFrom: string | null;
  /** Before this time. */
  readonly createdTo: string | null;
  readonly processedFrom: string | null;
  readonly processedTo: string | null;
  readonly bank: BankFilter | null;
  /** Any of these: the forms of one account number. */
  readonly accountNumbers: readonly string[] | null;
  /** Exact decimals, as text; both inclusive. */
  readonly amountFrom: string | null;
  readonly amountTo: string | null;
  /** Whether it is in PROCESS and later than its bank was expected to take. */
  readonly overdue: boolean | null;
}

/** Transactions keep the code that the disbursement core sent, which is any of the bank's codes in any case. */
export interface BankFilter {
  /** In capitals. */
  readonly codes: readonly string[];
  /** Finds BICs with a branch, too; null when the bank is not in the directory. */
  readonly bic: string | null;
}

/** The place of a transaction in a list. Neither of the two ever changes, so pages neither repeat nor skip one. */
export interface ListPosition {
  /** `created_at`; `processed_at` in a list that is ordered by it. ISO 8601 UTC, with microseconds. */
  readonly at: string;
  readonly transactionId: string;
}

export interface TransactionPage {
  /** As check-status answers them, in JSON. */
  readonly transactions: readonly string[];
  /** Where the next page starts; null when there is no more. */
  readonly next: ListPosition | null;
}

/**
 * How many transactions one page reads from its index. The conditions that no index answers (bank, amount, and some
 * combinations) are checked for these only: a page that finds too few ends early, and the next one continues there. So
 * a page has the same cost whatever it looks for, and however many transactions the client has.
 */
const SCANNED_MAX = 10_000;

/**
 * The planner believes that rows in the order of an index are scattered over the table, and so it would rather read all
 * rows of a long range and sort them. They are not: transactions are stored nearly in the order of time.
 */
export const IN_INDEX_ORDER = 'set local enable_bitmapscan = off; set local enable_sort = off';

export interface PageOptions {
  /** The end of the previous page; null for the first page. */
  readonly after: ListPosition | null;
  readonly limit: number;
  /** Smaller in tests that have few transactions. */
  readonly scannedMax?: number;
}

/** One page of the client's transactions, the newest first. */
export async function listTransactions(
  database: Database,
  clientId: string,
  filter: TransactionFilter,
  { after, limit, scannedMax = SCANNED_MAX }: PageOptions,
): Promise<TransactionPage> {
  const { sql, values } = listQuery(clientId, filter, { after, rowsMax: limit + 1, scannedMax });
  const { rows } = await databaseOfClient(database, clientId).transaction(async (query) => {
    await query(IN_INDEX_ORDER);
    return query<PageRow>(sql, values);
  });
  const found = rows.filter(({ matches }) => matches);
  const page = found.slice(0, limit);
  // More were found, or the last row is the last one that was read, whether it matches or not.
  const last = found.length > limit ? page.at(-1) : rows.find(({ scanned }) => scanned === scannedMax);
  return {
    transactions: page.map(({ rendered }) => parsePrinted(rendered).json),
    next: last === undefined ? null : { at: last.position, transactionId: last.transaction_id },
  };
}

interface PageRow extends Record<string, unknown> {
  position: string;
  transaction_id: string;
  rendered: string;
  matches: boolean;
  /** How many were read up to this one; null in a list that checks no further conditions. */
  scanned: number | null;
}

function listQuery(
  clientId: string,
  filter: TransactionFilter,
  {
    after,
    rowsMax,
    scannedMax,
  }: Pick<PageOptions, 'after'> & { readonly rowsMax: number; readonly scannedMax: number },
): { readonly sql: string; readonly values: readonly unknown[] } {
  const values: unknown[] = [];
  const parameter = (value: unknown): string => `$${values.push(value)}`;
  const client = parameter(clientId);
  const { order, scans, indexed, further } = conditionsOf(client, filter, parameter);
  const start =
    after === null
      ? []
      : [`(${order}, ${LISTED_ID}) < (${parameter(after.at)}::timestamptz, ${parameter(after.transactionId)})`];
  const isFurther = further.length > 0;
  const matches = `(${further.join(' and ')})`;
  const columns = [
    `${order} as at`,
    `${LISTED_ID} as transaction_id`,
    // Thousands are read that do not match.
    `${isFurther ? `case when ${matches} then ${printed('t')} end` : printed('t')} as rendered`,
    ...(isFurther ? [`${matches} as matches`] : []),
  ];
  // Each scan is ordered and bounded by itself: the planner then reads it in the order of the index and merges them.
  const readMax = isFurther ? parameter(scannedMax) : parameter(rowsMax);
  const scan = scans
    .map((own) => {
      const conditions = [...own, ...indexed, ...start].join(' and ');
      return `(select ${columns.join(', ')} from tiba.transactions t where ${conditions}
          order by ${order} desc, ${LISTED_ID} desc limit ${readMax})`;
    })
    .join('\n union all\n');
  const sql = isFurther
    ? `select ${SELECTED}, matches, scanned from (
         select scan.*, row_number() over (${NEWEST_FIRST})::integer as scanned
           from (select * from (${scan}) as indexed ${NEWEST_FIRST} limit ${readMax}) as scan
       ) as numbered
       where matches or scanned = ${readMax} ${NEWEST_FIRST} limit ${parameter(rowsMax)}`
    : `select ${SELECTED}, true as matches, null::integer as scanned
         from (${scan}) as indexed ${NEWEST_FIRST} limit ${readMax}`;
  return { sql, values };
}

/** SQL, as the indexes of lists have it: with another collation than look-ups by this ID. */
const LISTED_ID = 't.transaction_id collate "POSIX"';

// Exact: a position that was rounded would skip transactions.
const POSITION = `to_char(at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
const SELECTED = `${POSITION} as position, transaction_id, rendered`;
const NEWEST_FIRST = 'order by at desc, transaction_id desc';

interface Conditions {
  readonly order: 'created_at' | 'processed_at';
  /** One for each scan of the index. The scans are merged in the order of the list. */
  readonly scans: readonly (readonly string[])[];
  /** What the index answers in addition: a range of `order`. */
  readonly indexed: readonly string[];
  /** What is checked for each row that the index finds. */
  readonly further: readonly string[];
}

/** Chooses the index that reads the fewest rows (0001_initial_schema.sql), and divides the conditions accordingly. */
function conditionsOf(client: string, filter: TransactionFilter, parameter: (value: unknown) => string): Conditions {
  const time = (column: string, from: string | null, to: string | null): string[] => [
    ...(from === null ? [] : [`${column} >= ${parameter(from)}::timestamptz`]),
    ...(to === null ? [] : [`${column} < ${parameter(to)}::timestamptz`]),
  ];
  const { status, accountNumbers, overdue } = filter;
  const owner = `t.client_id = ${client}`;
  const hashedOwner = isOf(client);
  const created = time('created_at', filter.createdFrom, filter.createdTo);
  const processed = time('processed_at', filter.processedFrom, filter.processedTo);
  const statuses = status === null ? [] : [`status = '${status}'`];
  const overdues = overdue === null ? [] : [overdue ? OVERDUE : `not (${OVERDUE})`];
  const rest = [...bankConditions(filter, parameter), ...amountConditions(filter, parameter)];

  if (accountNumbers !== null) {
    return {
      order: 'created_at',
      scans: accountNumbers.map((each) => [hashedOwner, isAccount(parameter(each))]),
      indexed: created,
      further: [...statuses, ...processed, ...overdues, ...rest],
    };
  }
  if (processed.length > 0) {
    const further = [...statuses, ...created, ...overdues, ...rest];
    return { order: 'processed_at', scans: [[owner, "status <> 'PROCESS'"]], indexed: processed, further };
  }
  if (overdue === true) {
    return {
      order: 'created_at',
      scans: [[owner, OVERDUE]],
      indexed: created,
      further: [...statuses, ...rest],
    };
  }
  const scans = (status === null ? STATUSES : [status]).map((each) => [hashedOwner, isStatus(each)]);
  return { order: 'created_at', scans, indexed: created, further: [...overdues, ...rest] };
}

/** SQL: whose transactions. The indexes of lists have the hash of the client. */
export const isOf = (client: string): string =>
  `hashtext(t.client_id) = hashtext(${client}) and t.client_id = ${client}`;

/** SQL: the index of accounts has their hashes. */
export const isAccount = (accountNumber: string): string =>
  `hashtext(t.account_number) = hashtext(${accountNumber}) and t.account_number = ${accountNumber}`;

/** SQL, as the index has it. PROCESS has a table of its own. */
export const isStatus = (status: Status): string =>
  isFinal(status) ? `t.status = '${status}' and t.status::"char" = '${status[0]}'` : `t.status = '${status}'`;

const OVERDUE = "status = 'PROCESS' and overdue_since is not null";

/** ISO 9362: of eleven characters the first eight identify the bank, and the last three a branch. */
export function bankConditions(
  { bank }: Pick<TransactionFilter, 'bank'>,
  parameter: (value: unknown) => string,
): string[] {
  if (bank === null) return [];
  const isCode = `upper(bank_code) = any (${parameter(bank.codes)}::text[])`;
  if (bank.bic === null) return [isCode];
  return [`(${isCode} or length(bank_code) = 11 and left(upper(bank_code), 8) = ${parameter(bank.bic)})`];
}

const amountConditions = (
  { amountFrom, amountTo }: TransactionFilter,
  parameter: (value: unknown) => string,
): string[] => [
  ...(amountFrom === null ? [] : [`amount >= ${parameter(amountFrom)}::numeric`]),
  ...(amountTo === null ? [] : [`amount <= ${parameter(amountTo)}::numeric`]),
];
